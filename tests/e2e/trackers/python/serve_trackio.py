"""Trackio's own server, on a port of this machine."""
import sys

import uvicorn
from trackio.server import build_starlette_app_only

app, _ = build_starlette_app_only()
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
