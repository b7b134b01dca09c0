/** The completion script of zsh. */

import type { Branch, CompletedOption } from './branch';

export function zshCompletion(branches: readonly Branch[]): string {
  const deep = branches.filter(({ path }) => path.includes(' ')).map(({ path }) => `'${path}'`);
  return `#compdef weir
# Completion of weir for zsh: source <(weir completion zsh), after compinit
_weir() {
  local branch='' before=\${words[CURRENT-1]}
  local -a choices flags
  if (( CURRENT > 2 )); then branch=\${words[2]}; fi
  if (( CURRENT > 3 )); then
    case "$branch \${words[3]}" in
      (${deep.join('|')}) branch="$branch \${words[3]}" ;;
    esac
  fi
  case "$branch $before" in
${branches.flatMap(valueCases).join('\n')}
  esac
  case "$branch" in
${branches.map(branchCase).join('\n')}
  esac
  (( $#choices )) && _describe -V 'weir' choices
  (( $#flags )) && _describe -o 'option' flags
}
compdef _weir weir
`;
}

function branchCase({ path, words, options, takesFile }: Branch): string {
  const choices = words.map(({ word, purpose }) => item(word, purpose)).join(' ');
  const flags = options.map(({ flag, purpose }) => item(flag, purpose)).join(' ');
  return `    ('${path}') choices=(${choices}); flags=(${flags})${takesFile ? '; _files' : ''} ;;`;
}

function valueCases({ path, options }: Branch): readonly string[] {
  return options.filter(({ value }) => value !== 'none').map((option) => `    ('${path} ${option.flag}') ${effectOf(option)}; return ;;`);
}

function effectOf({ value }: CompletedOption): string {
  if (value === 'file') return '_files';
  return typeof value === 'string' ? "_message 'a value'" : `compadd -- ${value.join(' ')}`;
}

/** A word with its description, in quotes. A colon separates the two. */
function item(word: string, purpose: string): string {
  return quote(purpose === '' ? word : `${word}:${purpose.replaceAll(':', '\\:')}`);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
