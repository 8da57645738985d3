"""Features of points beside their coordinates, and what is made of a table's columns.

::

    local_geometry(points, cloud=None)   (n, f): the shape of what surrounds each point, at several scales
    geometry_names(cell)                 what its columns are called
    ColumnRecipe.learn(frame)            which columns of a table are used, and as what

``lattice`` has cells and positions as whole numbers, ``geometry`` chooses how large cells are, ``pyramid``
sums moments and makes shapes of them, ``averages`` sums values. ``exchange`` gives processes that share a
cloud the cells of each other's points, ``tiles`` keeps a cloud on disk. ``table_cells`` reads cells,
``table_plans`` recognises what a column of a table is, ``table_columns`` says what becomes of it.
"""

from pinvgcn.features.geometry import geometry_names, local_geometry
from pinvgcn.features.table_columns import ColumnRecipe

__all__ = ["ColumnRecipe", "geometry_names", "local_geometry"]
