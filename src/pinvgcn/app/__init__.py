"""The labelling page: a person clicks a few points, and the whole scan takes its colours.

Of the scan: ``cloud`` all points and a sample, ``shown`` what is drawn, ``known`` classes that its file has.
Of labels: ``labels`` with undo, ``journal`` the same as a file beside the scan, ``label_table`` as CSV.
From the screen to points: ``picking``, ``regions``, ``tools``.
Answers: ``preparation`` what they need, ``head`` in closed form, ``live`` at once, ``proposals`` where to
look next, ``refining`` the full fit in a process of its own; ``session`` all of it together.
In the browser: ``messages`` what comes from it, checked; ``canvas`` the scene, ``colours``, ``hands``
gestures and keys, ``panel`` and ``legend``, ``page``; ``gate`` who may come in, ``serve``, ``exports``.
"""
