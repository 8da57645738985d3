"""From a table in a file to classes in a file: ``pinvgcn classify``, and ``predict`` for tables.

- ``target``: the column that is to be predicted
- ``plan``: the table as read: which rows and columns take part
- ``classify``: the whole job
- ``predict``: a saved model on another file, in chunks
- ``explain``: why a row of a file gets its class from a saved model
- ``cost``: what it will take
- ``questions``: the rows whose label would help most
"""

from pinvgcn.tables.classify import Classified, ClassifyRequest, classify_table, save_model
from pinvgcn.tables.explain import ExplainedRow, explain_table_row
from pinvgcn.tables.plan import TablePlan, plan_table
from pinvgcn.tables.predict import Predicted, is_table_model, predict_table

__all__ = [
    "Classified",
    "ClassifyRequest",
    "ExplainedRow",
    "Predicted",
    "TablePlan",
    "classify_table",
    "explain_table_row",
    "is_table_model",
    "plan_table",
    "predict_table",
    "save_model",
]
