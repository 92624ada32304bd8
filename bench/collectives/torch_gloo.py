"""One rank of torch.distributed's Gloo: all-reduces floats and prints, on rank 0, the seconds of each call as JSON.

Arguments: size:repeats pairs.
"""
import json
import sys
import time

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
found = {}
for bytes_, repeats in (map(int, item.split(":")) for item in sys.argv[1:]):
    x = torch.ones(bytes_ // 4)
    times = []
    for i in range(-(repeats // 4 + 2), repeats):
        y = x.clone()
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(y)
        if i >= 0:
            times.append(time.perf_counter() - start)
    assert y[-1] == dist.get_world_size()
    found[bytes_] = times
if dist.get_rank() == 0:
    print(json.dumps(found))
dist.destroy_process_group()
