/** The completion script of fish. */

import type { Branch, CompletedOption } from './branch';

export function fishCompletion(branches: readonly Branch[]): string {
  const deep = branches.filter(({ path }) => path.includes(' ')).map(({ path }) => `'${path}'`);
  return `# Completion of weir for fish: weir completion fish | source
function __weir_at
    set -l tokens (commandline -opc)
    set -l branch $tokens[2]
    if set -q tokens[3]; and contains -- "$tokens[2] $tokens[3]" ${deep.join(' ')}
        set branch "$tokens[2] $tokens[3]"
    end
    test "$branch" = "$argv[1]"
end
complete -c weir -f
${branches.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, words, options, takesFile }: Branch): readonly string[] {
  const at = `complete -c weir -n ${quote(`__weir_at ${quote(path)}`)}`;
  return [
    ...words.map(({ word, purpose }) => `${at} -a ${word}${describe(purpose)}`),
    ...options.map((option) => `${at} -l ${option.flag.slice(2)}${effectOf(option)}${describe(option.purpose)}`),
    ...(takesFile ? [`${at} -F`] : []),
  ];
}

function effectOf({ value }: CompletedOption): string {
  if (value === 'none') return '';
  if (value === 'file') return ' -r -F';
  return value === 'text' ? ' -x' : ` -x -a ${quote(value.join(' '))}`;
}

function describe(purpose: string): string {
  return purpose === '' ? '' : ` -d ${quote(purpose)}`;
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
