/** The words that a shell may complete, as a tree that is two words deep: commands, and the actions of commands. */

export interface Word {
  readonly word: string;
  /** Empty: there is nothing to say. */
  readonly purpose: string;
}

export interface CompletedOption {
  readonly flag: string;
  readonly purpose: string;
  /** The value of the flag: `none` for a flag without a value, or the only accepted words. */
  readonly value: 'none' | 'file' | 'text' | readonly string[];
}

/** The words that may follow a command, or an action of it. */
export interface Branch {
  /** The command, or command and action; empty: what may follow `weir`. */
  readonly path: string;
  readonly words: readonly Word[];
  readonly options: readonly CompletedOption[];
  /** Whether an argument may be a file. */
  readonly takesFile: boolean;
}

/** A command as `weir help` knows it. */
export interface CompletableCommand {
  readonly name: string;
  readonly purpose: string;
  /** The help, which names every option with the form of its value. */
  readonly usage: string;
  /** Words that may follow the command. */
  readonly words?: readonly string[];
  /** Absent: the options are those of the help. */
  readonly actions?: readonly CompletableAction[];
}

export interface CompletableAction {
  /** Empty: the command has only this action. */
  readonly name: string;
  readonly purpose: string;
  readonly operand?: { readonly words?: readonly string[] };
  readonly options: Readonly<Record<string, { readonly form?: string; readonly help: string }>>;
}

/** The root comes first. */
export function branchesOf(commands: readonly CompletableCommand[]): readonly Branch[] {
  const root: Branch = {
    path: '',
    words: commands.map(({ name, purpose }) => ({ word: name, purpose })),
    options: [],
    takesFile: false,
  };
  return [root, ...commands.flatMap(branchesOfCommand)];
}

function branchesOfCommand({ name, usage, words = [], actions }: CompletableCommand): readonly Branch[] {
  const own: Branch = { path: name, words: words.map((word) => ({ word, purpose: '' })), options: [], takesFile: false };
  if (actions === undefined) return [{ ...own, options: optionsIn(usage), takesFile: usage.startsWith(`weir ${name} [FILE`) }];
  const named = actions.filter((each) => each.name !== '');
  const branches = actions.map((each): Branch => ({
    path: each.name === '' ? name : `${name} ${each.name}`,
    words: (each.operand?.words ?? []).map((word) => ({ word, purpose: '' })),
    options: Object.entries(each.options).map(([flag, { form, help }]) => ({ flag: `--${flag}`, purpose: help, value: valueOf(form) })),
    takesFile: false,
  }));
  if (named.length === 0) return branches;
  return [{ ...own, words: named.map((each) => ({ word: each.name, purpose: each.purpose })) }, ...branches];
}

/** The options that the help names, by their first place there. */
function optionsIn(usage: string): readonly CompletedOption[] {
  const options = new Map<string, CompletedOption>();
  for (const [, flag = '', form] of usage.matchAll(/(?<![\w-])(--[a-z][a-z-]*)(?: ([^\s\]]+))?/g)) {
    if (!options.has(flag)) options.set(flag, { flag, purpose: '', value: valueOf(form) });
  }
  return [...options.values()];
}

function valueOf(form: string | undefined): CompletedOption['value'] {
  if (form === undefined) return 'none';
  if (/^FILE\b/.test(form)) return 'file';
  return /^[a-z0-9]+(?:\|[a-z0-9]+)+$/.test(form) ? form.split('|') : 'text';
}
