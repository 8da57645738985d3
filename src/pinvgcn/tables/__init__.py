"""From a table in a file to classes in a file: ``pinvgcn classify``, and ``predict`` for tables.

- ``plan``: the table as read: its target, which rows and columns take part, and what it will cost
- ``files``: what is read, where the copies go, and which of them are done
- ``classify``: fit to all rows and predict all
- ``predict``: a saved model on other files, in chunks
- ``explain``: why a row of a file gets its class from a saved model
- ``questions``: the rows whose label would help most
"""

from pinvgcn.tables.classify import Classified, ClassifyRequest, classify_table, save_model
from pinvgcn.tables.explain import ExplainedRow, explain_table_row
from pinvgcn.tables.files import TableFiles
from pinvgcn.tables.plan import TablePlan, plan_table
from pinvgcn.tables.predict import Predicted, TableModel, is_table_model, predict_job, predict_table

__all__ = [
    "Classified", "ClassifyRequest", "ExplainedRow", "Predicted", "TableFiles", "TableModel", "TablePlan",
    "classify_table", "explain_table_row", "is_table_model", "plan_table", "predict_job", "predict_table",
    "save_model",
]  # fmt: skip
