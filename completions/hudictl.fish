# Made by docs/generate.py with click 8.5.1.
function _hudictl_completion;
    set -l response (env _HUDICTL_COMPLETE=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) hudictl);

    for completion in $response;
        set -l metadata (string split "," $completion);

        if test $metadata[1] = "dir";
            __fish_complete_directories $metadata[2];
        else if test $metadata[1] = "file";
            __fish_complete_path $metadata[2];
        else if test $metadata[1] = "plain";
            echo $metadata[2];
        end;
    end | string replace -r -- '^' (echo (string match -r '^--.*?=' -- (commandline -t)));
end;

complete --no-files --command hudictl --arguments "(_hudictl_completion)";
