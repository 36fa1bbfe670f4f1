"""The colors of all pictures: the color-blind safe palette of Okabe and Ito, and tints of it."""

BLUE, SKY, VERMILION, ORANGE = "#0072b2", "#56b4e9", "#d55e00", "#e69f00"
PALE_ORANGE, PALE_BLUE, GRAY, PALE_GRAY, BLACK = "#f6d6b4", "#cfe6f5", "#8c8c8c", "#dcdcdc", "#000000"
