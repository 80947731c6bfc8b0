import pytest

from coevo.authoring.env_answers import HOSTILE
from coevo.environments.adapters.common import seeded_tasks
from coevo.environments.adapters.gym_text import (
    AS_SPOKEN,
    GymText,
    UnreadableAnswerError,
    Wording,
    observed_text,
    spoken,
)
from coevo.errors import ContentError, EnvironmentFault
from coevo.interfaces import Environment, Task

gymnasium = pytest.importorskip("gymnasium", reason="needs the package gymnasium")

TASK = Task("t", {"seed": 5})


class Guess(gymnasium.Env):
    """Find a digit that the seed draws: a real Gymnasium environment, with a text for observation and for action."""

    observation_space = gymnasium.spaces.Text(200)
    action_space = gymnasium.spaces.Text(10, charset="0123456789")
    closed = 0

    def reset(self, *, seed=None, options=None):
        """Draw the digit."""
        super().reset(seed=seed)
        self.secret = str(self.np_random.integers(10)) if options is None else options["secret"]
        self.turn = 0
        return "Which digit?", {}

    def step(self, action):
        """Compare."""
        self.turn += 1
        won = action == self.secret
        return (
            "Right." if won else f"Not {action}.",
            float(won),
            won,
            self.turn == 3,
            {"turn": self.turn, "bad": object()},
        )

    def close(self):
        """Count."""
        self.closed += 1


def test_an_episode_is_played_to_its_end():
    """Messages grow by what the game says; its reward, end and plain information are passed on."""
    game = GymText(Guess, rules="Find the digit.")
    assert isinstance(game, Environment)
    opening = game.reset(Task("t", {"options": {"secret": "7"}}), 1)
    assert [(m.role, m.content) for m in opening] == [("system", "Find the digit."), ("user", "Which digit?")]
    step = game.step(" 3\n")
    assert (step.messages[0].content, step.reward, step.done) == ("Not 3.", 0.0, False)
    assert step.info == {"turn": 1, "valid": True}
    step = game.step("7")
    assert (step.messages, step.reward, step.done, step.truncated) == ((), 1.0, True, False)


def test_a_game_may_cut_an_episode_off():
    """Its truncation is the environment's."""
    game = GymText(Guess)
    game.reset(Task("t", {"options": {"secret": "x"}}), 1)
    assert [game.step("3").truncated for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("answer", [*HOSTILE.values(), "seven", "12345678901"])
def test_an_answer_that_is_no_action_is_told_so(answer):
    """The game does not see it."""
    game = GymText(Guess)
    game.reset(TASK, 1)
    step = game.step(answer)
    assert step.info == {"valid": False}
    assert step.messages[0].content
    assert game._game.turn == 0


def test_a_tasks_seed_is_the_game_and_the_episodes_where_it_has_none():
    """Tasks of different splits are different games, whatever the episode's seed."""
    game = GymText(Guess)

    def secret(data, seed):
        game.reset(Task("t", data), seed)
        return game._game.secret

    assert len({secret({"seed": 5}, seed) for seed in range(30)}) == 1
    assert len({secret({}, seed) for seed in range(30)}) > 5
    assert secret({}, 5) == secret({"seed": 5}, 9)
    assert {task.data["seed"] for task in seeded_tasks("val", {"train": 3, "val": 2})} == {1_000_000, 1_000_001}


def test_it_can_be_closed_at_any_time_and_begins_anew():
    """Twice, before an episode and in one; the game is closed once."""
    made = []

    def make():
        made.append(Guess())
        return made[-1]

    game = GymText(make)
    game.close()
    game.reset(TASK, 1)
    game.close()
    game.close()
    assert [each.closed for each in made] == [1]
    game.reset(TASK, 1)
    assert len(made) == 2


def test_a_wording_of_ones_own():
    """Words for actions, other observations, and what the game itself refuses."""

    class Bits(Guess):
        action_space = gymnasium.spaces.Discrete(3)

        def step(self, action):
            if action == 2:
                raise ValueError("two is taken")
            return {"bits": [action]}, 0.0, False, False, {}

    def act(answer):
        if answer not in ("off", "on", "two"):
            raise UnreadableAnswerError("Say off or on.")
        return ["off", "on", "two"].index(answer)

    game = GymText(Bits, wording=Wording(str, act, refusals=(ValueError,)))
    game.reset(TASK, 1)
    said = [game.step(answer).messages[0].content for answer in ("on", "maybe", "two")]
    assert said == ["{'bits': [1]}", "Say off or on.", "two is taken"]


def test_a_failing_game_is_a_fault():
    """It says nothing of the agent."""

    class Broken(Guess):
        def step(self, action):
            raise KeyError("gone")

    game = GymText(Broken)
    game.reset(TASK, 1)
    with pytest.raises(EnvironmentFault, match="the game failed: KeyError: 'gone'"):
        game.step("1")


def test_a_reward_that_is_no_number_is_a_fault():
    """A score of nan would be nobody's."""

    class Undecided(Guess):
        def step(self, action):
            return "?", float("nan"), False, False, {}

    game = GymText(Undecided)
    game.reset(TASK, 1)
    with pytest.raises(EnvironmentFault, match="reward of nan"):
        game.step("1")


@pytest.mark.parametrize("observation", ["words", {"text": "words", "n": 1}])
def test_observations_that_hold_a_text(observation):
    """A text, or a mapping with one."""
    assert observed_text(observation) == "words"


@pytest.mark.parametrize("observation", [3, {"n": 1}, None, [1]])
def test_other_observations_are_refused(observation):
    """With what to do about them."""
    with pytest.raises(ContentError, match="expected an observation that is a text"):
        observed_text(observation)


def test_nothing_is_no_action():
    """White space neither."""
    assert spoken(" go \n") == "go"
    with pytest.raises(UnreadableAnswerError):
        AS_SPOKEN.act(" \n")
