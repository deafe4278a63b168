"""Deletions of many files in one request."""

from tests.mutants.fault import Fault

BATCHES = "storage/batches.py"
PATIENCE = "storage/patience.py"
GCS = "storage/gcs.py"
TESTS = "storage/test_batches.py"

FAULTS = (
    Fault(
        PATIENCE,
        "        again = [name for name, (_, later) in kept.items() if later]\n",
        "        again: list[str] = []\n",
        "a restore ends with 20 where a store limits its requests",
        ("storage/test_s3.py::test_what_a_store_has_put_off_is_deleted_later",),
    ),
    Fault(
        PATIENCE,
        "if not found.later} | left\n",
        "if not found.later}\n",
        "files that a store goes on to put off count as deleted",
        (TESTS,),
    ),
    Fault(
        PATIENCE,
        "        tries = tries + 1 if len(left) == len(again) else min(tries + 1, _STEADY)\n",
        "        tries += 1\n",
        "a restore ends with 3 where a store is slower than hudictl asks",
        ("storage/test_s3.py::test_a_store_that_deletes_slowly_is_waited_for",),
    ),
    Fault(
        BATCHES,
        "                return dict.fromkeys(part, Kept(why, later))\n",
        "                return {}\n",
        "the files of a request that failed count as deleted",
        (TESTS,),
    ),
    Fault(
        BATCHES,
        '            code, reason = answers.get(number, (_NOT_UNDERSTOOD, ""))\n',
        '            code, reason = answers.get(number, (_ABSENT, ""))\n',
        "a file without an answer counts as deleted",
        (TESTS,),
    ),
    Fault(
        BATCHES,
        "            elif not (200 <= code < 300 or code == _ABSENT):\n",
        "            elif not (200 <= code < 500):\n",
        "a file that the store keeps counts as deleted",
        (TESTS,),
    ),
    Fault(
        BATCHES,
        "            elif not (200 <= code < 300 or code == _ABSENT):\n",
        "            elif not 200 <= code < 300:\n",
        "a rerun ends with 3, as its files are gone already",
        (TESTS,),
    ),
    Fault(
        BATCHES,
        "            found[int(number[1])] = int(code), reason.decode",
        "            found[len(found)] = int(code), reason.decode",
        "the outcome of one file is told of another",
        (TESTS,),
    ),
    Fault(
        BATCHES,
        "        return kept | singly(rest)\n",
        "        singly(rest)\n        return kept\n",
        "a file that is kept by a store without such requests counts as deleted",
        (TESTS,),
    ),
    Fault(
        BATCHES,
        "            refused.append(why)\n",
        "",
        "a store without such requests gets one for each hundred files, and refuses it",
        (TESTS,),
    ),
    Fault(
        BATCHES,
        "    return (400 <= status < 500 or status == 501) and status not in LATER\n",
        "    return status >= 400\n",
        "a store that limits its requests gets one for each file",
        (TESTS,),
    ),
    Fault(
        BATCHES,
        "            if later is not None and not has_no_batches(error):\n",
        "            if True:\n",
        "a restore on a server without such requests deletes nothing",
        (TESTS,),
    ),
    Fault(
        BATCHES,
        "            if later is not None and not has_no_batches(error):\n",
        "            if later is not None:\n",
        "a restore on Azure without such requests deletes nothing",
        (TESTS,),
    ),
    Fault(
        GCS,
        "DELETE {url} HTTP",
        "DELETE {url.replace('%25', '%')} HTTP",
        "a file is deleted whose name is another's, decoded",
        (TESTS,),
    ),
    Fault(
        "storage/s3.py",
        '        return importlib.import_module("hudictl.storage.s3_names").ExactNames\n',
        '        return RemoteStorage._driver("s3://")\n',
        "a deletion of the file a?versionId=1 on S3 deletes the file a",
    ),
    Fault(
        "storage/azure_names.py",
        '            return path.lstrip("/")\n',
        "            return super()._strip_protocol(path)\n",
        "a deletion of the file a? on Azure deletes the file a",
    ),
    Fault(
        "storage/azure.py",
        ' or (blob.get("metadata") or {}).get("hdi_isfolder") == "true"',
        "",
        "a folder of an account with real folders is a file: its data files are not seen",
        ("storage/test_azure_listing.py",),
    ),
    Fault(
        "storage/azure.py",
        "        if prefix and not found and not self.has_folder(folder):\n",
        "        if False:\n",
        "a folder that is gone counts as empty",
        ("storage/test_azure_listing.py",),
    ),
)
