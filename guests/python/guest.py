import heapq, json, sys, time

def by_heap(all):
    rest = list(all)
    heapq.heapify(rest)
    return [heapq.heappop(rest) for _ in all]

numbers = [(n * 7919) % 20_011 for n in range(20_000)]
ways = {"sorted": sorted, "heap": by_heap}

print(json.dumps({"hocket-guest": 1, "variants": list(ways)}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    way = ways[asked["variant"]]
    begin = time.perf_counter_ns()
    found = way(numbers)
    took = time.perf_counter_ns() - begin
    print(json.dumps({"round": asked["round"], "time_ns": took, "ops": len(found),
                      "checksum": str(hash(tuple(found)))}), flush=True)
