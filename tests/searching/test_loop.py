import dataclasses
from collections import Counter, defaultdict

import pytest
from arms import ARMS

from coevo.candidate import Candidate, Evaluation
from coevo.es.history import read_history, updates
from coevo.records.event_log import read_events
from coevo.searching.closing import Tally
from coevo.searching.loop import evolve


def events_of(harness, kind):
    """The recorded events of one kind."""
    return [event for event in read_events(harness.directory.events) if event["kind"] == kind]


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("budget", [1, 7, 35, 70, 201])
def test_the_budget_is_spent_exactly(harness, budget, arm):
    """The engine is asked once for every unit of budget and never more, whatever the arm."""
    run = harness(budget=budget, **ARMS[arm])
    evolve(run.search)
    asked = [r.id for r in run.engine.requests if ".skill." not in r.id]
    charged = [r["id"] for e in events_of(run, "asked") if e["operator"] != "skill" for r in e["requests"]]
    assert asked == charged
    assert len(set(asked)) == len(asked) == budget + run.search.plan.on_top
    assert run.search.plan.charged == budget


def test_requests_are_charged_before_they_are_sent(harness):
    """When the engine sees a request, the log already holds it as asked."""
    run = harness(budget=30)
    original = run.engine.generate

    def check(requests):
        charged = {request["id"] for event in events_of(run, "asked") for request in event["requests"]}
        assert {request.id for request in requests} <= charged
        yield from original(requests)

    run.engine.generate = check
    evolve(run.search)
    assert len(run.engine.requests) == 30


def test_only_m1_and_m2_are_answered_by_members(harness):
    """i1, e1 and e2 ask the unperturbed model; at m1 and m2 each member gets as many children as any other."""
    run = harness(budget=190)
    evolve(run.search)
    by_step = defaultdict(list)
    for request in run.engine.requests:
        if request.member is None:
            continue
        assert request.id.split(".")[1] in ("m1", "m2")
        by_step[request.member.step].append(request.member.direction)
    assert by_step
    for directions in by_step.values():
        assert sorted(directions) == sorted([*range(10)] * 2)


def test_m1_and_m2_of_a_generation_share_sigma_and_not_the_step(harness):
    """σ follows the generation and falls to 0, where no member is asked; noise follows the step."""
    run = harness(budget=250)
    evolve(run.search)
    sigmas = defaultdict(set)
    steps = defaultdict(set)
    for request in run.engine.requests:
        if request.member:
            generation, operator, _ = request.id.split(".")
            sigmas[int(generation)].add(request.member.sigma)
            steps[generation, operator].add(request.member.step)
    assert all(len(found) == 1 for found in [*sigmas.values(), *steps.values()])
    values = [next(iter(sigmas[generation])) for generation in sorted(sigmas)]
    assert values == sorted(values, reverse=True)
    assert len(run.search.plan.generations) not in sigmas
    assert len({next(iter(s)) for s in steps.values()}) == len(steps)


def test_members_of_a_case_share_parents_and_no_sampling_seed(harness):
    """With common parents rewards compare members; every completion still has a seed of its own."""
    run = harness(budget=190)
    evolve(run.search)
    cases = defaultdict(set)
    for event in events_of(run, "child"):
        if event["member"]:
            generation, operator, place = event["id"].split(".")
            cases[generation, operator, int(place) // 10].add(tuple(event["parents"]))
    assert cases
    assert all(len(parents) == 1 for parents in cases.values())
    assert len({request.seed for request in run.engine.requests}) == len(run.engine.requests)


def test_common_seeds_are_shared_by_members_and_by_nobody_else(harness):
    """Members of a case share their sampling seed; without members, and at sigma 0, every completion has its own."""
    run = harness(budget=200, seeds="common", evolution_strategy={"members": 5, "children": 2})
    evolve(run.search)
    by_step = defaultdict(list)
    for request in run.engine.requests:
        by_step[request.id.rpartition(".")[0], request.member is not None].append(request)
    shared = [requests for (_, has_members), requests in by_step.items() if has_members]
    assert shared
    for requests in shared:
        assert len({request.seed for request in requests}) == len(requests) // 5
        assert len({(request.seed, request.member) for request in requests}) == len(requests)
    own = [request.seed for (_, has_members), requests in by_step.items() if not has_members for request in requests]
    assert len(set(own)) == len(own) > 0


def test_independent_parents_are_drawn_for_every_child(harness):
    """The published rule gives each direction a parent of its own."""
    run = harness(budget=190, parents="independent")
    evolve(run.search)
    drawn = [tuple(e["parents"]) for e in events_of(run, "child") if e["id"].startswith("1.m1.")]
    assert len(set(drawn)) > 2


def test_the_history_replays_the_updates(harness):
    """`es/history.jsonl` gives exactly the updates the engine was told, one record per step."""
    run = harness(budget=250)
    evolve(run.search)
    lines = run.directory.history.read_text().splitlines(keepends=True)
    assert list(updates(lines)) == run.engine.updates != []
    assert [record.step for record in read_history(lines)] == list(range(len(lines)))


def test_without_es_nothing_is_perturbed_or_updated(harness):
    """The frozen arm asks the base model for the same numbers of children."""
    frozen = harness(budget=190, es="off")
    evolve(frozen.search)
    assert not any(request.member for request in frozen.engine.requests)
    assert frozen.engine.updates == []
    assert frozen.asked() == {"i1": 10, "e1": 30, "e2": 30, "m1": 60, "m2": 60}


def test_no_valid_first_candidate_stops_with_the_three_most_frequent_reasons(harness):
    """Where nothing works the search stops after the first batch and says why, instead of asking for ever."""
    verdicts = [Evaluation("crash", "ZeroDivisionError: line 1")] * 5 + [Evaluation("timeout", "10 s")] * 4
    verdicts += [Evaluation("memory", "1 GB")] * 2 + [Evaluation("infeasible", "node visited twice")]
    queue = iter(verdicts * 3)
    run = harness(judge=lambda code: next(queue), budget=100)
    outcome = evolve(run.search)
    assert outcome.status == "no-valid-candidate"
    tally = Tally(charges_first=True)
    for event in read_events(run.directory.events):
        tally.take(event)
    assert len(tally.frequent_failures()) == 3
    assert tally.frequent_failures()[0] == "5 × crash: ZeroDivisionError: line 1"
    assert len(run.engine.requests) == 10


def test_the_users_heuristic_joins_the_first_population(harness):
    """A start heuristic is evaluated, charged nothing, and can carry a search whose first answers all fail."""
    mine = Candidate("def select_next_node(a, b, c, d):\n    return 0.001\n", operator="start")
    run = harness(start=[mine], budget=75)
    outcome = evolve(run.search)
    assert outcome.population.best.candidate == mine
    assert len(run.engine.requests) == 75


def test_the_population_is_managed_after_each_operator(harness):
    """A child of e1 can be a parent at e2 of the same generation."""
    run = harness(budget=190)
    evolve(run.search)
    born = {e["candidate"] for e in events_of(run, "child") if e["id"].startswith("1.e1.")}
    later = {p for e in events_of(run, "child") if e["id"].startswith(("1.e2.", "1.m1.")) for p in e["parents"]}
    assert born & later


def test_a_target_ends_the_search_early(harness):
    """Fewer completions are charged than planned when the target is met."""
    run = harness(budget=500, target=0.2)
    outcome = evolve(run.search)
    assert outcome.status == "target"
    assert len(run.engine.requests) < 500


def test_two_runs_with_one_seed_are_the_same(harness, tmp_path, tsp, fake_pool, ticking):
    """Same configuration, same events; another seed, other events."""
    from coevo.records.run_directory import RunDirectory

    def story(seed, name):
        directory = RunDirectory.create(tmp_path, name, {})
        with directory.open_log(ticking) as log:
            run = type(harness(budget=1))(
                directory, log, tsp, fake_pool(harness(budget=1).pool._judge), budget=130, seed=seed
            )
            evolve(run.search)
        return [{k: v for k, v in e.items() if k != "clock"} for e in read_events(directory.events)]

    assert story(1, "a") == story(1, "b") != story(2, "c")


def test_noise_only_perturbs_and_never_updates(harness):
    """The ablation asks members and records their rewards; the weights stay where they are."""
    run = harness(budget=190, learns=False)
    evolve(run.search)
    assert any(request.member for request in run.engine.requests)
    steps = events_of(run, "step")
    assert steps
    assert len({step["fingerprint"] for step in steps}) == 1
    assert run.engine.updates == list(updates(run.directory.history.read_text().splitlines(keepends=True))) == []
    assert len(set(steps[0]["rewards"])) > 1


def test_the_guard_refuses_steps_whose_members_fall_apart(harness):
    """A step in which everything fails moves nothing and halves σ for those to come; the log says so."""
    run = harness(budget=310, guard=True, evolution_strategy={"schedule": "constant"})
    write = run.engine.generate

    def break_down(requests):
        for completion in write(requests):
            is_broken = completion.request_id.startswith("3.m1.")
            yield dataclasses.replace(completion, text="no program") if is_broken else completion

    run.engine.generate = break_down
    evolve(run.search)
    guards, steps = events_of(run, "guard"), events_of(run, "step")
    refused = [step["step"] for step in steps if not step["applied"]]
    assert refused == [guard["step"] for guard in guards if guard["refused"]] == [4]
    assert len(run.engine.updates) == len(steps) - 1
    sigmas = [step["sigma"] for step in steps]
    assert sigmas == [sigmas[0]] * 5 + [sigmas[0] / 2] * (len(steps) - 5)


def test_sampling_writes_new_heuristics_only_and_learns_at_each_batch(harness):
    """Every completion is an i1 without parents; members of each batch earn minus their children's mean cost."""
    run = harness(budget=120, method="sample")
    outcome = evolve(run.search)
    assert run.asked() == {"i1": 120}
    assert len(outcome.population) == 10
    assert len(run.engine.updates) == 5  # the last of six batches has sigma 0
    children = events_of(run, "child")
    assert all(child["parents"] == [] for child in children)


def test_sampling_survives_batches_without_a_valid_child(harness):
    """A batch in which everything fails teaches nothing and ends nothing; that nothing was valid is a status."""
    verdicts = iter([Evaluation("crash", "no")] * 200)
    run = harness(judge=lambda code: next(verdicts), budget=60, method="sample")
    assert evolve(run.search).status == "no-valid-candidate"
    assert len(run.engine.requests) == 60
    assert run.engine.updates == []


def test_no_member_has_a_case_that_another_has_not(harness):
    """In a batch that is no multiple of the members the rest is the base model's, so that rewards compare members."""
    run = harness(budget=207, evolution_strategy={"schedule": "constant", "members": 7, "children": 3})
    evolve(run.search)
    by_batch = defaultdict(list)
    for request in run.engine.requests:
        by_batch[request.id.rpartition(".")[0]].append(request.member and request.member.identity)
    uneven = [members for members in by_batch.values() if any(members) and len(members) % 7]
    assert uneven
    for members in by_batch.values():
        own = Counter(member for member in members if member is not None)
        assert len(set(own.values())) <= 1
        assert members.count(None) == len(members) % 7 or not own
