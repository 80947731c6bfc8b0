"""The numbers of the evolution strategy, checked where they enter."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from coevo.es.dealing import fault, smallest_share
from coevo.interfaces import Unit

Schedule = Literal["cosine", "constant"]
AlphaRule = Literal["constant", "proportional"]
ZScores = Literal["joint", "separate"]
Spread = Literal["step", "run"]

FEW_MEMBERS = 10
_FP32_TINY = 2.0**-126
_FP32_MAX = 2.0**127


def _fits_fp32(value: float) -> float:
    if value != 0.0 and not _FP32_TINY <= value <= _FP32_MAX:
        raise ValueError(f"must be a normal fp32 number, got {value}")
    return value


Positive = Annotated[FiniteFloat, Field(gt=0), AfterValidator(_fits_fp32)]
NotNegative = Annotated[FiniteFloat, Field(ge=0), AfterValidator(_fits_fp32)]


class ESSettings(BaseModel):
    """Settings of one run's evolution strategy; G, C, σ and α of the papers.

    The defaults are the published ones for search at test time (Agentic-ESOpt).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    members: int = Field(default=10, ge=2, le=100_000)
    """G: perturbed models per step, both signs of an antithetic pair counted."""

    children: int = Field(default=1, ge=1, le=100_000)
    """C: completions per member; the member's reward is their mean."""

    sigma: Positive = 1e-3
    """σ₀: standard deviation of the perturbation in the first generation, in weight units."""

    sigma_end: NotNegative = 0.0
    """σ_T: standard deviation in the last generation; without effect on a constant schedule."""

    schedule: Schedule = "cosine"
    """How σ goes from `sigma` to `sigma_end` over the generations."""

    alpha: Positive = 5e-4
    """α: length of an update, in weight units; the update is not divided by σ."""

    alpha_rule: AlphaRule = "constant"
    """Whether α stays (published) or shrinks with σ (α·σ_t/σ₀)."""

    antithetic: bool = False
    """Whether members 2j and 2j + 1 share direction j with opposite signs."""

    subspaces: int = Field(default=1, ge=1, le=2**16)
    """K: random disjoint subspaces of the weights, drawn anew every step; each member moves one (CoPES)."""

    subspace_unit: Unit = "element"
    """What is assigned to a subspace as a whole: each weight (published), or tiles of 4,096 consecutive ones."""

    z_scores: ZScores = "joint"
    """Whether rewards are standardised over the whole step (published), or within each subspace."""

    spread: Spread = "step"
    """By what rewards are standardised: the spread of their own step (published), or the largest of any step so far,
    so that steps shorten as rewards come to differ by little. It goes with joint z-scores."""

    rank: int = Field(default=0, ge=0)
    """r: rank of the noise on every matrix (EGGROLL); 0 is dense."""

    @model_validator(mode="after")
    def _consistent(self) -> "ESSettings":
        if self.antithetic and self.members % 2:
            raise ValueError(
                f"antithetic members come in pairs: members must be even, got {self.members}; "
                f"take {self.members + 1} or turn antithetic off"
            )
        if (reason := fault(self.members, subspaces=self.subspaces, antithetic=self.antithetic)) is not None:
            raise ValueError(f"{reason}; take more members or fewer subspaces")
        if self.rank and self.subspaces > 1:
            raise ValueError(
                f"noise of low rank has no published meaning in subspaces, got rank {self.rank} and "
                f"{self.subspaces} subspaces; set rank to 0 or subspaces to 1"
            )
        if self.spread == "run" and self.z_scores == "separate":
            raise ValueError(
                "separate z-scores have a spread in each subspace, got spread run; set spread to step or z_scores to "
                "joint"
            )
        if self.schedule == "cosine" and self.sigma_end > self.sigma:
            raise ValueError(
                f"the cosine schedule lowers sigma: sigma_end must not exceed sigma {self.sigma}, got {self.sigma_end}"
            )
        return self

    def warnings(self) -> tuple[str, ...]:
        """What is allowed but unwise about these settings, one sentence each."""
        if self.members < FEW_MEMBERS:
            return (f"z-scores over {self.members} members are rough; {FEW_MEMBERS} or more are usual",)
        share = smallest_share(self.members, subspaces=self.subspaces, antithetic=self.antithetic)
        if share < FEW_MEMBERS:
            return (
                f"{self.members} members leave {share} for one of {self.subspaces} subspaces; {FEW_MEMBERS} or more "
                f"in each are advised, so take {FEW_MEMBERS * self.subspaces} members or fewer subspaces",
            )
        return ()
