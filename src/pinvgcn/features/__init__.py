"""Features of points beside their coordinates, and what is made of a table's columns.

::

    local_geometry(points, cloud=None)   (n, f): the shape of each point's neighbourhood at several scales
    geometry_names()                     what its columns are called
    local_average(points, values)        (n, c): the mean of values over the points nearest to each
    ColumnRecipe.learn(frame)            which columns of a table are used, and as what

``neighbours`` says who belongs to a neighbourhood, ``shapes`` what it looks like in space, ``columns`` what
stands above and below, ``spread`` what ranks that share out a cloud ask each other for. ``table_columns``
looks at tables, ``text_numbers`` and ``text_dates`` at their cells.
"""

from pinvgcn.features.averages import local_average
from pinvgcn.features.geometry import geometry_names, local_geometry
from pinvgcn.features.table_columns import ColumnRecipe

__all__ = ["ColumnRecipe", "geometry_names", "local_average", "local_geometry"]
