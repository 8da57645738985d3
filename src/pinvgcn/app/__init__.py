"""The labelling page: a person clicks a few points, and the whole scan takes its colours.

Of the scan: ``cloud`` all points, those that are drawn and a sample, ``known`` classes that its file has.
Of labels: ``labels`` with undo, ``journal`` the same as a file beside the scan.
From the screen to points: ``picking``, ``tools``.
Answers: ``preparation`` what they need, ``head`` in closed form and where to look next, ``live`` at once,
``refining`` the full fit in a process of its own; ``session`` all of it together; ``exports`` as files.
In the browser: ``messages`` what comes from it, checked; ``canvas`` the scene, ``colours``, ``hands``
gestures and keys, ``panel``, ``page``; ``gate`` who may come in, ``serve``.
"""
