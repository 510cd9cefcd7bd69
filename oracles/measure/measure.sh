# In the guest: `measure NAME DEVICE` does the plan of that name on the device; `NAME-base` is the same plan without delays.
# While a program waits for a page of itself from the host, the guest's clock runs to its next timer: programs are in memory.
cp /h/agent /tmp/agent
measure() { /tmp/agent --destroy-data "$2" --out /tmp/$1.jsonl /h/${1%-base}.plan 2>/tmp/err || { cat /tmp/err; exit 1; }; cp /tmp/$1.jsonl /h/; }
measure_cpu() { /tmp/agent --out /tmp/$1.jsonl /h/$1.plan 2>/tmp/err || { cat /tmp/err; exit 1; }; cp /tmp/$1.jsonl /h/; }
