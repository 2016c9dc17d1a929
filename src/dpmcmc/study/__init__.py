"""From a study file to a report: what a person without Python writes, checked whole before anything is charged.

``places`` knows on which line a key stands, ``sections`` read the keys, ``columns`` and ``regression`` say what they
mean, ``skeleton`` writes a file to fill in, and ``running`` plans and runs what a file says.
"""

from dpmcmc.study.places import StudyError
from dpmcmc.study.skeleton import new_study
from dpmcmc.study.study import Study, study_of

__all__ = ["Study", "StudyError", "new_study", "study_of"]
