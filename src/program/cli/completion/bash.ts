/** The completion script of bash. */

import type { Branch, CompletedOption } from './branch';

export function bashCompletion(branches: readonly Branch[]): string {
  const deep = branches.filter(({ path }) => path.includes(' ')).map(({ path }) => `'${path}'`);
  return `# Completion of weir for bash: source <(weir completion bash)
_weir() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} branch='' words=''
  COMPREPLY=()
  if ((COMP_CWORD > 1)); then branch=\${COMP_WORDS[1]}; fi
  if ((COMP_CWORD > 2)); then
    case "$branch \${COMP_WORDS[2]}" in
      ${deep.join(' | ')}) branch="$branch \${COMP_WORDS[2]}" ;;
    esac
  fi
  case "$branch $before" in
${branches.flatMap(valueCases).join('\n')}
  esac
  if [ -z "$words" ]; then
    case "$branch" in
${branches.map(({ path, words, options }) => `      '${path}') words='${[...words.map(({ word }) => word), ...options.map(({ flag }) => flag)].join(' ')}' ;;`).join('\n')}
    esac
  fi
  local word
  while read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
}
# Without a word of its own, readline completes names of files.
complete -o default -F _weir weir
`;
}

function valueCases({ path, options }: Branch): readonly string[] {
  return options.filter(({ value }) => value !== 'none').map((option) => `    '${path} ${option.flag}') ${effectOf(option)} ;;`);
}

function effectOf({ value }: CompletedOption): string {
  return typeof value === 'string' ? 'return' : `words='${value.join(' ')}'`;
}
