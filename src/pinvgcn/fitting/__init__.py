"""From rows and labels to a fitted model, in the order in which a fit uses the files.

::

    folds                    what labels each member learns from, and what is held out
    nodes, table_nodes       rows as nodes of a graph
    inputs                   what networks see of them
    settings                 FitSettings: checked parameters; ResolvedSettings: without any "auto"
    prepared                 Prepared: all that does not depend on labels
    pool                     Ensemble: experts by name, and how their opinions are weighed
    class_shares, smoothing  from scores to probabilities: shares of classes, averages over neighbours
    conformal                sets of classes with a promised coverage, and how files have them
    estimate                 AccuracyEstimate: how well the model is expected to do, and from what
    scan                     what a fit to a scan adds to others: where a place counts, other scans
    first_look               FirstLook: what trees say of the surroundings of a point
    fitted_model             FittedModel: the result, as a value
    members                  what each member of an ensemble learns
    fit                      ``learn``: from all of this to a FittedModel; σ by held-out labels
    mixed_rows               what a model says of rows put together from several
    importance               which columns of a table mattered, at held-out labels
    explanation              how much each value of a row moved the answer: Shapley values
    model_file, model_shapes the files of saved models
"""
