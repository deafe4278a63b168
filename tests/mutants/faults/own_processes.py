"""Processes beside hudictl's own."""

from tests.mutants.fault import Fault

PROCESSES = "engine/processes.py"
LOCAL = "engine/local.py"

FAULTS = (
    Fault(
        PROCESSES,
        "        return value if done else function(task)\n",
        "        return value\n",
        "what a process could not list or judge is taken for nothing",
    ),
    Fault(
        PROCESSES,
        "        if done is None:\n            _end(process)\n        else:\n            self.idle.put(process)\n",
        "        self.idle.put(process)\n",
        "a process that has died gets the next task, and is left behind",
    ),
    Fault(
        PROCESSES,
        "    os.dup2(2, 1)\n",
        "",
        "what a library prints is taken for an answer",
    ),
    Fault(
        PROCESSES,
        "    except _GONE:\n        return None, None\n",
        "    except EOFError:\n        return None, None\n",
        "a process that has died ends the command with a traceback",
    ),
    Fault(
        PROCESSES,
        "    Thread(target=_end_with, args=(parent,), daemon=True).start()\n",
        "",
        "processes go on where hudictl was killed",
    ),
    Fault(
        PROCESSES,
        "        for process in [*self.busy]:\n            process.kill()\n",
        "",
        "who interrupts hudictl waits for its processes",
    ),
    Fault(
        PROCESSES,
        "            except OSError:\n                return function(task)\n",
        "            except ValueError:\n                return function(task)\n",
        "without room for a process a command ends with a traceback",
    ),
    Fault(
        LOCAL,
        "        if self.processes is not None:\n            self.processes.close()\n",
        "        return None\n",
        "processes are left until hudictl's own ends: a notebook keeps them",
        ("engine/test_processes.py",),
    ),
    Fault(
        LOCAL,
        "            self.errors.extend(part.errors)\n",
        "",
        "a folder that another process could not list is taken for an empty one",
        ("engine/test_processes.py",),
    ),
    Fault(
        LOCAL,
        "            self._write(number, part.body, part.lists)\n",
        "            self._write(number, part.body, 1)\n",
        "of the files that another process has listed some are lost",
        ("engine/test_processes.py",),
    ),
    Fault(
        LOCAL,
        "                results += found\n",
        "                results = results or found\n",
        "what another process has judged is lost",
        ("engine/test_processes.py",),
    ),
)
