"""Audits: mechanisms run on neighbouring data sets, and what they give away beside what they claim."""

from dpmcmc.auditing.algorithms import register_audit as register_audit
from dpmcmc.auditing.chains import experiment_of as experiment_of
from dpmcmc.auditing.claims import Claim as Claim
from dpmcmc.auditing.entry import audit as audit
from dpmcmc.auditing.experiment import Experiment as Experiment
from dpmcmc.auditing.experiment import Neighbours as Neighbours
from dpmcmc.auditing.experiment import View as View
from dpmcmc.auditing.findings import AuditReport as AuditReport
