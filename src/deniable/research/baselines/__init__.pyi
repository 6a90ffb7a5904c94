from .apple import AppleCMS as AppleCMS
from .apple_hadamard import AppleHCMS as AppleHCMS
from .exponential import Exponential as Exponential
from .hadamard import HadamardEncoding as HadamardEncoding
from .histogram import SHE as SHE
from .histogram_threshold import THE as THE
from .longitudinal import LGRR as LGRR, LOLOHA as LOLOHA, LOUE as LOUE
from .projective_geometry import PGR as PGR
from .recursive_hadamard import RecursiveHadamard as RecursiveHadamard
