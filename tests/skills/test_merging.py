import math

from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from coevo.skills import SkillSettings, most_completions
from coevo.skills.merging import MERGED_EDITS, bounded, grouped, num_levels, union
from coevo.skills.patch import Edit, Hints, Patch

EVIDENCE = st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True).map(lambda ids: tuple(sorted(ids)))
EDIT = st.builds(
    Edit,
    st.just("add"),
    st.sampled_from(["worked", "failed"]),
    text=st.sampled_from(["One", "one.", "Two", "Three", "Four"]),
    evidence=EVIDENCE,
)
PATCHES = st.lists(st.lists(EDIT, min_size=1, max_size=3).map(lambda edits: Patch(tuple(edits))), max_size=30)


def up(patches, group):
    """Merge deterministically, level by level; the last patch and the number of levels."""
    levels = 0
    while len(patches) > 1:
        patches = [union(part) for part in grouped(patches, group)]
        levels += 1
    return (union(patches), levels)


@effort(max_examples=50)
@given(PATCHES, st.integers(2, 8), st.integers(2, 8), st.randoms(use_true_random=False))
def test_the_union_does_not_depend_on_order_or_grouping(patches, group, other, chance):
    """Any order of the patches and any size of groups give the same patch."""
    shuffled = list(patches)
    chance.shuffle(shuffled)
    assert up(patches, group)[0] == up(shuffled, other)[0] == union(patches)


@effort(max_examples=50)
@given(PATCHES, st.integers(2, 8))
def test_the_union_loses_no_evidence(patches, group):
    """Every trace that supported an edit supports the merged one, and recurring edits come first."""
    merged, _ = up(patches, group)
    for edit in (edit for patch in patches for edit in patch.edits):
        (same,) = [one for one in merged.edits if one.key == edit.key]
        assert set(edit.evidence) <= set(same.evidence)
    counts = [len(edit.evidence) for edit in merged.edits]
    assert counts == sorted(counts, reverse=True)


@effort(max_examples=40)
@given(st.integers(1, 400), st.integers(2, 9))
def test_levels_are_the_rounded_up_logarithm(count, group):
    """⌈log_B n⌉ levels: the least whose groups of groups hold all patches."""
    patches = [Patch((Edit("add", "worked", text=f"lesson {n}", evidence=(str(n),)),)) for n in range(count)]
    levels = up(patches, group)[1]
    assert levels == num_levels(count, group)
    assert group**levels >= count
    assert levels == 0 or group ** (levels - 1) < count


def test_three_hundred_patches_need_four_levels_of_five():
    """The published size: 300 patches, five at a time."""
    assert num_levels(300, 5) == math.ceil(math.log(300, 5)) == 4
    assert [num_levels(n, 5) for n in (0, 1, 2, 5, 6, 25, 26, 125, 126)] == [0, 0, 1, 1, 2, 2, 3, 3, 4]


@given(st.integers(1, 300), st.integers(2, 9))
def test_most_completions_counts_every_merge_of_several(count, group):
    """A lesson for every trace and a completion for every group of two or more, on every level."""
    asked, size = count, count
    while size > 1:
        sizes = [len(part) for part in grouped([Patch()] * size, group)]
        asked += sum(part > 1 for part in sizes)
        size = len(sizes)
    assert most_completions(SkillSettings(max_traces=count, group=group)) == asked


def test_a_bounded_patch_reports_what_is_cut():
    """Edits past the bound are rejected, not lost."""
    edits = tuple(Edit("add", "worked", text=f"lesson {n}", evidence=("a",)) for n in range(MERGED_EDITS + 2))
    kept, rest = bounded(Patch(edits, Hints(("exp",))))
    assert (kept.edits, kept.hints) == (edits[:MERGED_EDITS], Hints(("exp",)))
    assert [r.edit for r in rest] == [str(edit) for edit in edits[MERGED_EDITS:]]


def test_hints_of_the_first_patch_that_has_any_stay():
    """A union keeps hints."""
    patches = [Patch(), Patch((), Hints(("exp",))), Patch((), Hints(("log",)))]
    assert union(patches).hints == Hints(("exp",))
