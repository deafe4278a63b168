# Made by docs/generate.py with click 8.5.1.
_hudictl_completion() {
    local type value
    COMPREPLY=()
    while IFS=, read -r type value; do
        [[ $type == plain ]] && COMPREPLY+=("$value")
        [[ $type == dir ]] && compopt -o filenames -o plusdirs
        [[ $type == file ]] && compopt -o default
    done < <(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_CWORD="$2" _HUDICTL_COMPLETE=bash_complete "$1")
}
complete -o nosort -F _hudictl_completion hudictl
