/** A command of the admin API: actions with their options. Makes its help, and runs it. */

import { AdminClient } from '../admin/admin-client';
import { AdminError } from '../admin/admin-error';
import { CONNECTION_OPTIONS, readConnection } from '../admin/connection';
import { printable } from '../admin/printable';
import { readArgs } from '../read-args';
import { readChoice, UsageError } from '../usage-error';
import { didYouMean } from '../../../lib/text/did-you-mean';

export interface ControlOption {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  /** The value in the help, such as `FILE` or `asked|denied`. Absent: a flag without a value. */
  readonly form?: string;
  /** The action does nothing without it. */
  readonly required?: boolean;
  readonly help: string;
}

export type ControlOptions = Readonly<Record<string, ControlOption>>;

type ValueOf<Option extends ControlOption> = Option['type'] extends 'boolean'
  ? boolean
  : Option extends { readonly multiple: true }
    ? string[]
    : string;

type RequiredNames<Options extends ControlOptions> = {
  [Name in keyof Options]: Options[Name] extends { readonly required: true } ? Name : never;
}[keyof Options];

export type Values<Options extends ControlOptions> = { readonly [Name in RequiredNames<Options>]: ValueOf<Options[Name]> } & {
  readonly [Name in Exclude<keyof Options, RequiredNames<Options>>]?: ValueOf<Options[Name]>;
};

/** Why a write has no effect, or only a part of it. */
export interface WriteWarning {
  readonly message: string;
}

/** The parts that an action works with. */
export interface ActionCall<Options extends ControlOptions> {
  readonly values: Values<Options>;
  /** The argument that is not an option; empty if the action has none. */
  readonly operand: string;
  readonly admin: AdminClient;
  readonly nowMs: number;
  /** Prints the reply: as JSON with `--json`, or the text. */
  readonly print: (reply: unknown, text: () => string) => void;
  /** Prints the warnings of a write on standard error; with `--json` the reply has them. */
  readonly warn: (warnings: readonly WriteWarning[]) => void;
  /** Prints a line of a stream: the JSON with `--json`, or the text. */
  readonly printLine: (json: string, text: () => string) => void;
}

interface ActionDefinition<Options extends ControlOptions> {
  /** The word after the command; empty: the command has only this action. */
  readonly name: string;
  readonly purpose: string;
  /** The argument that is not an option, in the help. `words`: the only ones that are accepted. */
  readonly operand?: { readonly form: string; readonly words?: readonly [string, ...string[]] };
  readonly options: Options;
  readonly run: (call: ActionCall<Options>) => Promise<void>;
}

export type ControlAction = Omit<ActionDefinition<ControlOptions>, 'run'> & {
  readonly run: (call: ActionCall<ControlOptions>) => Promise<void>;
};

/** Checks the types of an action, and forgets them: its values are read by its own options. */
export function action<const Options extends ControlOptions>(definition: ActionDefinition<Options>): ControlAction {
  return definition as unknown as ControlAction;
}

export interface ControlCommand {
  readonly name: string;
  readonly actions: readonly ControlAction[];
}

/** Options of every action. */
const COMMON_OPTIONS = {
  json: { type: 'boolean', help: 'print the reply of the API as JSON' },
  ...CONNECTION_OPTIONS,
} as const satisfies ControlOptions;

/** The options of an action, with those of all. */
export function optionsOf(each: ControlAction): ControlOptions {
  return { ...each.options, ...COMMON_OPTIONS };
}

function title({ name }: ControlCommand, each: ControlAction): string {
  return `weir ${name}${each.name === '' ? '' : ` ${each.name}`}`;
}

/** The help of the command. */
export function usageOf(command: ControlCommand): string {
  const lines = command.actions.map((each) => {
    const required = each.operand === undefined ? '' : ` ${each.operand.form}`;
    const own = Object.entries(each.options).map(([name, option]) => {
      const flag = flagText(name, option);
      return option.required === true ? ` ${flag}` : ` [${flag}]`;
    });
    return { head: `${title(command, each)}${required}${own.join('')}`, purpose: each.purpose };
  });
  const options: ControlOptions = {
    ...Object.fromEntries(command.actions.flatMap((each) => Object.entries(each.options))),
    ...COMMON_OPTIONS,
  };
  const flags = Object.entries(options).map(([name, option]) => ({ flag: flagText(name, option), help: option.help }));
  const width = Math.max(...flags.map(({ flag }) => flag.length));
  return [
    lines.map(({ head, purpose }) => `${head}\n    ${purpose}`).join('\n'),
    '',
    ...flags.map(({ flag, help }) => `  ${flag.padEnd(width)}  ${help}`),
    '',
    'Exit codes: 0 done, 1 no answer or refused, 2 invalid arguments.',
  ].join('\n');
}

function flagText(name: string, { form }: ControlOption): string {
  return `--${name}${form === undefined ? '' : ` ${form}`}`;
}

export interface RunInput {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Resolves to the exit code.
 *
 * @throws UsageError
 */
export async function runControl(command: ControlCommand, { args, env }: RunInput): Promise<number> {
  const [word = ''] = args;
  const chosen = command.actions.find(({ name }) => name === word) ?? command.actions.find(({ name }) => name === '');
  if (chosen === undefined) throw new UsageError(noAction(command, word));
  const options = optionsOf(chosen);
  const line = title(command, chosen);
  const { values, positionals } = readArgs(chosen.name === '' ? args : args.slice(1), {
    command: line,
    usage: usageOf(command),
    options,
    ...(chosen.operand !== undefined && { operand: `one ${chosen.operand.form}` }),
  });
  const operand = readOperand(line, chosen, positionals[0]);
  checkRequired(line, options, values);
  const { warning, ...connection } = readConnection(values, env);
  const { json: isJson = false } = values as Values<typeof COMMON_OPTIONS>;
  const admin = new AdminClient({ ...connection, options: Object.keys(options) });
  try {
    if (warning !== undefined) console.error(`${line}: ${warning}`);
    await chosen.run({
      values: values as Values<ControlOptions>,
      operand,
      admin,
      nowMs: Date.now(),
      print: (reply, text) => {
        console.log(isJson ? JSON.stringify(reply, null, 2) : text());
      },
      warn: (warnings) => {
        for (const { message } of isJson ? [] : warnings) console.error(`warning: ${printable(message)}`);
      },
      printLine: (json, text) => {
        console.log(isJson ? json : text());
      },
    });
    return 0;
  } catch (error) {
    if (!(error instanceof AdminError)) throw error;
    console.error(`${line}: ${error.message}`);
    return 1;
  }
}

function readOperand(line: string, { operand }: ControlAction, given: string | undefined): string {
  if (operand === undefined) return '';
  if (given === undefined || given === '') throw new UsageError(`${line}: ${operand.form} is missing\n${line} --help lists its options.`);
  return operand.words === undefined ? given : readChoice(line, given, operand.words);
}

/** @throws UsageError */
function checkRequired(line: string, options: ControlOptions, values: Readonly<Record<string, unknown>>): void {
  for (const [name, option] of Object.entries(options)) {
    if (option.required !== true || (values[name] !== undefined && values[name] !== '')) continue;
    throw new UsageError(`${line}: --${name} is missing; write it as ${flagText(name, option)}\n${line} --help lists its options.`);
  }
}

function noAction({ name, actions }: ControlCommand, word: string): string {
  const names = actions.map((each) => each.name);
  const all = names.join(', ');
  if (word === '' || word.startsWith('-')) return `weir ${name}: the action is missing; use one of ${all}`;
  const meant = didYouMean(word, names);
  return `weir ${name}: ${JSON.stringify(word)} is not an action; ${meant === undefined ? '' : `did you mean ${meant}? `}use one of ${all}`;
}
