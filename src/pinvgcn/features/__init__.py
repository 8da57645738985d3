"""Features of points beside their coordinates.

::

    local_geometry(points, cloud=None)   (n, f): the shape of each point's neighbourhood at several scales
    geometry_names()                     what its columns are called

``neighbours`` says who belongs to a neighbourhood, ``shapes`` what it looks like in space, ``columns`` what
stands above and below.
"""

from pinvgcn.features.geometry import geometry_names, local_geometry

__all__ = ["geometry_names", "local_geometry"]
