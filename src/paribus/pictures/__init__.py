"""Pictures: geometry once, drawn by matplotlib and as SVG. `catalog` lists them."""
