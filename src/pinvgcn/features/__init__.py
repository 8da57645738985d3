"""Features of points beside their coordinates.

::

    local_geometry(points, cloud=None)   (n, f): the shape of each point's neighbourhood at several scales
    geometry_names()                     what its columns are called
    local_average(points, values)        (n, c): the mean of values over the points nearest to each

``neighbours`` says who belongs to a neighbourhood, ``shapes`` what it looks like in space, ``columns`` what
stands above and below.
"""

from pinvgcn.features.averages import local_average
from pinvgcn.features.geometry import geometry_names, local_geometry

__all__ = ["geometry_names", "local_average", "local_geometry"]
