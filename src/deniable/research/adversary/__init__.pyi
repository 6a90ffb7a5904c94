from .attack_workflow import StatisticalLeakage as StatisticalLeakage, statistical_cpl as statistical_cpl
from .benchmarks import (
    AlgorithmScore as AlgorithmScore,
    MechanismScore as MechanismScore,
    benchmark_algorithms as benchmark_algorithms,
    benchmark_mechanisms as benchmark_mechanisms,
)
