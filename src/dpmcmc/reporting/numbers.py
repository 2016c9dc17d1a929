"""Numbers as people read them."""

from __future__ import annotations

import math


def short(value: float, digits: int = 3) -> str:
    """Three digits, and a real minus sign; powers of ten only where they help."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "not known"
    if value != 0 and not 1e-4 <= abs(value) < 1e6:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        text = f"{mantissa}·10{_raised(int(power))}"
    else:
        text = f"{value:.{digits}g}"
        text = f"{float(text):.0f}" if "e" in text else text
    return text.replace("-", "−")


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def span(low: float, high: float) -> str:
    """An interval."""
    return f"{short(low)} to {short(high)}"
