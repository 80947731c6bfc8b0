"""Names, places, dates and sums for generated documents, all drawn from one seeded generator."""

import random
from dataclasses import dataclass
from datetime import date, timedelta

_FIRST = ("Alice", "Bruno", "Clara", "David", "Elena", "Frank", "Grace", "Hugo", "Irene", "James", "Karen", "Louis",
          "Maria", "Nadia", "Oscar", "Paula", "Robert", "Sofia", "Thomas", "Vera")  # fmt: skip
_LAST = ("Anderson", "Bergman", "Castillo", "Dawson", "Edwards", "Fischer", "Gardner", "Hoffman", "Jensen", "Keller",
         "Lambert", "Mercer", "Norton", "Palmer", "Quinn", "Ramsey", "Sanders", "Turner", "Vaughn",
         "Webster")  # fmt: skip
_STREETS = ("Maple Street", "Harbour Road", "Station Lane", "Mill Avenue", "Garden Square", "Castle Hill", "Park Row",
            "River Walk", "Church Street", "Market Place")  # fmt: skip
_CITIES = ("Ashford", "Brighton", "Carlisle", "Durham", "Exeter", "Falmouth", "Grantham", "Hereford", "Lancaster",
           "Norwich", "Oxford", "Preston", "Ripon", "Salisbury", "Truro", "Winchester")  # fmt: skip
_TRADES = ("Stationery", "Hardware", "Printing", "Catering", "Electrical", "Furniture", "Textiles", "Logistics",
           "Chemicals", "Instruments")  # fmt: skip
_FORMS = ("Company", "Limited", "Partners", "Brothers", "Supplies", "Group")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip

GOODS = ("Desk lamp", "Paper tray", "Office chair", "Wall clock", "Steel ruler", "Ink cartridge", "Notebook", "Stapler",
         "Cable drum", "Filing box", "Water filter", "Door handle", "Paint brush", "Work gloves")  # fmt: skip
GROCERIES = ("Bread", "Butter", "Coffee", "Orange juice", "Apples", "Cheese", "Rice", "Tomatoes", "Honey", "Pasta",
             "Green tea", "Yoghurt", "Potatoes", "Olive oil")  # fmt: skip
REGIONS = ("North", "South", "East", "West", "Central", "Coastal", "Highland", "Valley")
PRODUCTS = ("Engines", "Pumps", "Valves", "Filters", "Bearings", "Gaskets", "Motors", "Sensors")
COMMITTEES = (
    "Budget Committee",
    "Safety Council",
    "Library Board",
    "Research Panel",
    "Housing Forum",
    "Planning Group",
)
ROOMS = ("Conference Room", "Lecture Hall", "Meeting Room", "Seminar Room")
TOPICS = ("the annual report", "the training plan", "the new building", "the supplier contracts", "the survey results")
TITLES = ("Director", "Secretary", "Treasurer", "Project Manager", "Chief Engineer")
PAYMENTS = ("Credit card", "Cash", "Debit card", "Gift voucher")


@dataclass(frozen=True, slots=True)
class Wording:
    """Draws what documents are filled with.

    Attributes:
        rng: Where every choice comes from.
    """

    rng: random.Random

    def person(self) -> str:
        """A first and a last name."""
        return self.people(1)[0]

    def people(self, count: int) -> tuple[str, ...]:
        """First and last names; no two of them share either."""
        pairs = zip(self.rng.sample(_FIRST, count), self.rng.sample(_LAST, count), strict=True)
        return tuple(f"{first} {last}" for first, last in pairs)

    def company(self) -> str:
        """The name of a firm."""
        return f"{self.rng.choice(_LAST)} {self.rng.choice(_TRADES)} {self.rng.choice(_FORMS)}"

    def city(self) -> str:
        """The name of a town."""
        return self.rng.choice(_CITIES)

    def street(self) -> str:
        """House number and street."""
        return f"{self.rng.randint(1, 199)} {self.rng.choice(_STREETS)}"

    def digits(self, count: int) -> str:
        """A number of so many digits that does not begin with 0."""
        return str(self.rng.randint(10 ** (count - 1), 10**count - 1))

    def day(self) -> date:
        """A day of the years 1990 to 2024."""
        return date(1990, 1, 1) + timedelta(days=self.rng.randrange(35 * 365))

    def day_after(self, day: date) -> date:
        """One to eight weeks later."""
        return day + timedelta(days=self.rng.randint(7, 56))

    def time(self) -> str:
        """A time of the day, as in "14:35"."""
        return f"{self.rng.randint(8, 19):02}:{self.rng.choice((0, 5, 10, 15, 20, 30, 35, 40, 45, 50)):02}"


def money(cents: int) -> str:
    """A sum as it stands on a page, as in "$1,204.50"."""
    return f"${cents / 100:,.2f}"


def ways_of_money(cents: int) -> tuple[str, ...]:
    """A sum as it stands on a page, and without the comma between thousands."""
    return tuple(dict.fromkeys((money(cents), f"${cents / 100:.2f}")))


def written(day: date) -> str:
    """A date as it stands on a page, as in "7 March 2011"."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def ways_of_date(day: date) -> tuple[str, ...]:
    """A date as it stands on a page, and with the month first."""
    return written(day), f"{_MONTHS[day.month - 1]} {day.day}, {day.year}"
