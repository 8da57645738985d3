"""The labelling page: a person clicks a few points, and the whole scan takes its colours.

``labels`` what was labelled, with undo; ``journal`` the same as a file beside the scan; ``picking`` from a
click or a rectangle to points; ``cloud`` the scan; ``head`` the answer to labels, in closed form;
``proposals`` where to click next; ``colours`` what a point looks like; ``session`` all of it together;
``page`` the browser's side; ``gate`` who may come in.
"""
