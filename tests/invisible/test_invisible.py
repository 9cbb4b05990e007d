"""A program that looks at itself behaves under `afterward run` as under Python. `make invisible` tries all of them."""

from __future__ import annotations

import sys

import pytest
from tests import tool

invisible = tool.load("invisible")

# Each of these was once different, and takes no torch.
SAMPLE = (
    "frames_below_main", "print_stack", "warning_stacklevel", "main_globals", "main_loader", "settrace_lines",
    "restricted_builtins", "prepare_missing", "marshal_elsewhere", "recursion_near", "exit_large", "exit_text",
    "die_by_sigint", "del_at_exit", "excepthook_raises", "last_value", "stdout_none", "stderr_none", "no_line",
    "order_of_streams", "two_lambdas_cloudpickle", "hot_exceptions", "folder", "zipapp", "module",
    "module_import_error",
    "imported_syntax_error", "import_system", "plugin_by_path", "through_link", "local_ast", "pdb_commands",
    "recursion_limits", "finders_listed", "setprofile_hot", "coverage_lines", "pdb_from_outside", "two_hundred_threads",
    "settrace_multiline", "refcount_of_everything", "pickles_of_all_kinds", "main_attributes_in_order",
    "exit_code_is_a_property", "exit_text_raises",
)  # fmt: skip
WITH_TORCH = (
    "own_containers", "dispatch_mode", "export_strict", "caught_and_logged", "interrupt_in_training",
    "torch_interrupts_raise", "torch_profiler_stacks", "torch_collector_rests", "torch_values_die_in_time",
    "torch_patched_by_program", "torch_lazy_and_meta", "del_where_it_stands", "torch_subclass_of_own_attributes",
    "torch_hooks_numbered", "torch_metaclass_counts", "torch_builtins_taken_away",
    "torch_error_is_untouched", "torch_metaclass_compared", "torch_names_of_own_class",
)  # fmt: skip


@pytest.mark.skipif(sys.version_info < (3, 11), reason="what programs print of themselves is that of Python 3.11")
@pytest.mark.parametrize("name", SAMPLE + WITH_TORCH)
def test_a_program_sees_no_difference(name: str) -> None:
    for needed in ("cloudpickle", "coverage"):
        if needed in name or (needed == "cloudpickle" and name == "pickles_of_all_kinds"):
            pytest.importorskip(needed)
    if name == "exit_large" and sys.version_info >= (3, 13):
        pytest.skip("this Python prints an error of its own as it ends")
    program = invisible.programs()[name]
    assert list(invisible.differences(name, program, "run")) == []
