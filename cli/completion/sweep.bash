# bash completion of sweep: the command itself says what a word may become.
_sweep() {
	local line=${COMP_LINE:0:COMP_POINT} word IFS=$' \t\n' words found
	read -ra words <<< "$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	word=${words[-1]} IFS=$'\n'
	found=($("${words[0]}" complete "${words[@]:1}" 2> /dev/null))
	found=("${found[@]%%$'\t'*}")
	[[ $word == *=* ]] || word=
	if [[ ${found[0]-} == :files ]]; then
		compopt -o default 2> /dev/null # readline knows quotes and blanks
		COMPREPLY=()
		return
	fi
	[[ ${found[0]-} == *[=/] ]] && compopt -o nospace 2> /dev/null
	COMPREPLY=("${found[@]#"${word%%=*}${word:+=}"}") # "=" parts words
}
complete -F _sweep sweep
