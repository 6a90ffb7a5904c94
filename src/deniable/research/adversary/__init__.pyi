from .attack_workflow import StatisticalLeakage as StatisticalLeakage, statistical_cpl as statistical_cpl
from .attacks import (
    attack_channel as attack_channel,
    attack_cpl as attack_cpl,
    attack_success as attack_success,
    effective_epsilon as effective_epsilon,
)
from .benchmarks import (
    AlgorithmScore as AlgorithmScore,
    MechanismScore as MechanismScore,
    benchmark_algorithms as benchmark_algorithms,
    benchmark_mechanisms as benchmark_mechanisms,
)
