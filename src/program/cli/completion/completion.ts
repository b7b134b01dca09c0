/** `weir completion`: prints the completion script of a shell. */

import { readArgs } from '../read-args';
import { readChoice, UsageError } from '../usage-error';
import { bashCompletion } from './bash';
import { branchesOf, type Branch, type CompletableCommand } from './branch';
import { fishCompletion } from './fish';
import { zshCompletion } from './zsh';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const COMPLETION_USAGE = `weir completion ${SHELLS.join('|')}

  bash: source <(weir completion bash)
  zsh:  source <(weir completion zsh), after compinit
  fish: weir completion fish | source

Prints a script that completes commands, actions, options and their values.`;

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (branches: readonly Branch[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

interface CompletionInput {
  readonly args: readonly string[];
  readonly commands: readonly CompletableCommand[];
}

/**
 * Returns the exit code.
 *
 * @throws UsageError
 */
export function completion({ args, commands }: CompletionInput): number {
  const { positionals } = readArgs(args, { command: 'weir completion', usage: COMPLETION_USAGE, options: {}, operand: 'one shell' });
  const [given] = positionals;
  if (given === undefined) throw new UsageError(`weir completion: the shell is missing; use one of ${SHELLS.join(', ')}`);
  const shell = readChoice('weir completion', given, SHELLS);
  process.stdout.write(SCRIPTS[shell](branchesOf(commands)));
  return 0;
}
