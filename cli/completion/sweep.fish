# fish completion of sweep: the command itself says what a word may become.
function __sweep_complete
    set -l words (commandline -opc)
    set -l found (command $words[1] complete $words[2..-1] (commandline -ct) 2>/dev/null)
    if test "$found[1]" = :files
        __fish_complete_path (string replace -r '^--[a-z-]+=' '' -- (commandline -ct))
    else
        printf '%s\n' $found
    end
end
complete -c sweep -f -a '(__sweep_complete)'
