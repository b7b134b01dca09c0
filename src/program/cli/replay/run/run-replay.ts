/** Replays logs under a configuration and a candidate, in virtual time. */

import { examineConfig } from '../../../../configuration/compile/compile';
import type { Environment } from '../../../../configuration/settings/table/settings';
import type { RuleSet } from '../../../../domain/rule/rule-set';
import { BadRequestError } from '../../../../lib/errors';
import { canBeKeyed, type DescriptorForm } from '../../../offline/keyed/keyed-engine';
import { readConfiguration } from '../../configuration';
import { KeySpace } from '../engines/key-space';
import { KeyedReplayEngine } from '../engines/keyed-replay-engine';
import { PlainEngine } from '../engines/plain-engine';
import type { ReplayEngine } from '../engines/replay-engine';
import { ReplayFigures } from '../engines/replay-figures';
import { RuleFigures, windowsByRule } from '../figures/rule-figures';
import { LogFile, type WrongInFile } from '../logs/log-file';
import type { LogEvent } from '../event/log-event';
import { readMerged } from '../logs/merged-logs';
import type { LogFormat } from '../formats/log-formats';
import { formsOf, type LogMapping } from '../mapping/log-mapping';

/** Wrong lines that the report shows. */
const WRONG_SHOWN = 5;

export interface ReplayOptions {
  readonly logs: readonly string[];
  /** The configuration in force, then the candidate if there is one. */
  readonly configurations: readonly LoadedConfiguration[];
  readonly format: LogFormat | undefined;
  readonly mapping: LogMapping | undefined;
  readonly reorderUs: number;
  readonly bucketsMax: number;
  /** More wrong lines end the replay. */
  readonly errorsMax: number;
  readonly isInterrupted: () => boolean;
  /** Called between reads, with the bytes that were read so far, before they are decompressed. */
  readonly onProgress: (bytes: number, requests: number) => void;
}

/** Why a replay ended before the end of its logs. */
export type EarlyEnd = 'interrupted' | 'too many wrong lines';

export interface ReplayOutcome {
  readonly figures: ReplayFigures;
  readonly linesWrong: number;
  readonly wrongLines: readonly WrongInFile[];
  /** Lines that send no request, because they have the fields of no descriptor. */
  readonly withoutDescriptors: number;
  /** By configuration: buckets that were evicted for lack of room. */
  readonly evictions: readonly number[];
  /** Absent: the logs were read to their ends. */
  readonly earlyEnd?: EarlyEnd;
}

export interface LoadedConfiguration {
  readonly name: string;
  readonly ruleSet: RuleSet;
  readonly modes: { readonly shadow: boolean; readonly quota: boolean };
  readonly keyPrefix: string;
}

/** @throws ConfigError, SettingsError */
export async function loadConfiguration(path: string, env: Environment): Promise<LoadedConfiguration> {
  const { settings, options } = await readConfiguration({ path, env, mergesDomains: false });
  const { ruleSet, list } = examineConfig(options);
  list.throwIfAny();
  return { name: path, ruleSet, modes: { shadow: settings.shadowMode, quota: settings.quotaMode }, keyPrefix: settings.cacheKeyPrefix };
}

/** @throws UsageError if a log cannot be read, or does not have the fields of the mapping */
export async function runReplay(options: ReplayOptions): Promise<ReplayOutcome> {
  const replay = new Replay(options);
  const files: LogFile[] = [];
  try {
    for (const name of options.logs)
      files.push(await LogFile.open({ name, ...options, isKeyed: replay.isKeyed, onRead: replay.onRead, onWrong: replay.onWrong }));
    await readMerged({ files, reorderUs: options.reorderUs, hold: replay.hold, onEvent: replay.onEvent, isStopped: replay.isStopped });
  } catch (error) {
    if (!(error instanceof TooManyWrongError)) throw error;
  } finally {
    for (const file of files) file.close();
  }
  return replay.outcome();
}

/** Ends the reading at once: a log may have nothing but wrong lines. */
class TooManyWrongError extends Error {
  override readonly name = 'TooManyWrongError';
}

class Replay {
  /** Undefined: requests are decided one by one. */
  private readonly space: KeySpace | undefined;
  private readonly figures: ReplayFigures;
  private readonly denials: boolean[] = [];
  private readonly wrongLines: WrongInFile[] = [];
  private linesWrong = 0;
  private withoutDescriptors = 0;
  private bytes = 0;
  private earlyEnd: EarlyEnd | undefined;

  constructor(private readonly options: ReplayOptions) {
    const keyed = keyedForms(options);
    this.space = keyed === undefined ? undefined : new KeySpace(keyed.forms.length, options.bucketsMax);
    const [first] = options.configurations;
    this.figures = new ReplayFigures(
      options.configurations.map((configuration, index) => {
        const rules = new RuleFigures(index === 0 || first === undefined ? undefined : windowsByRule(first.ruleSet));
        return { name: configuration.name, admitted: 0, denied: 0, engine: this.openEngine(configuration, { keyed, rules }) };
      }),
    );
  }

  get isKeyed(): boolean {
    return this.space !== undefined;
  }

  private openEngine(
    configuration: LoadedConfiguration,
    { keyed, rules }: { readonly keyed: KeyedForms | undefined; readonly rules: RuleFigures },
  ): ReplayEngine {
    const { ruleSet, modes, keyPrefix } = configuration;
    const { space } = this;
    if (keyed === undefined || space === undefined)
      return new PlainEngine({ ruleSet, modes, keyPrefix, bucketsMax: this.options.bucketsMax }, rules);
    const textOf = (form: number, key: number) => space.tables[form]?.textOf(key) ?? '';
    return new KeyedReplayEngine({ ruleSet, modes, keyPrefix, ...keyed, textOf }, space, rules);
  }

  readonly onRead = (bytes: number): void => {
    this.bytes += bytes;
  };

  readonly onWrong = (wrong: WrongInFile): void => {
    this.linesWrong += 1;
    if (this.wrongLines.length < WRONG_SHOWN) this.wrongLines.push(wrong);
    if (this.linesWrong <= this.options.errorsMax) return;
    this.earlyEnd = 'too many wrong lines';
    throw new TooManyWrongError();
  };

  /** The object that waits for its turn in place of a request; undefined: the line sends no request. */
  readonly hold = (event: LogEvent): LogEvent | undefined => {
    const { request, texts } = event;
    if (request === undefined ? hasText(texts) : request.descriptors.length > 0) return this.space?.hold(event) ?? event;
    this.withoutDescriptors += 1;
    return undefined;
  };

  readonly onEvent = (event: LogEvent, file: LogFile): void => {
    const { denials, figures } = this;
    try {
      for (let i = 0; i < figures.configurations.length; i += 1) denials[i] = figures.configurations[i]?.engine.decide(event) === true;
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error;
      file.wrong(`is a request that Weir refuses: ${error.message}`);
      return;
    }
    figures.count(denials, event.timeUs);
    this.space?.giveBack(event);
  };

  readonly isStopped = (): boolean => {
    const { options } = this;
    options.onProgress(this.bytes, this.figures.requests);
    if (options.isInterrupted()) this.earlyEnd = 'interrupted';
    return this.earlyEnd !== undefined;
  };

  outcome(): ReplayOutcome {
    const { figures, linesWrong, wrongLines, withoutDescriptors, earlyEnd } = this;
    const evictions = figures.configurations.map(({ engine }) => engine.evictions);
    return { figures, linesWrong, wrongLines, withoutDescriptors, evictions, ...(earlyEnd !== undefined && { earlyEnd }) };
  }
}

interface KeyedForms {
  readonly domain: string;
  readonly forms: readonly DescriptorForm[];
}

/** The forms of the descriptors, if every configuration can decide them by key. */
function keyedForms({ mapping, format, configurations }: ReplayOptions): KeyedForms | undefined {
  const domain = mapping?.domain.value;
  if (mapping === undefined || domain === undefined || (format ?? mapping.format) === 'decisions') return undefined;
  if (mapping.descriptors.some((entries) => entries.some(({ isOptional }) => isOptional === true))) return undefined;
  const forms = formsOf(mapping);
  return configurations.every(({ ruleSet }) => canBeKeyed(ruleSet, { domain, forms })) ? { domain, forms } : undefined;
}

function hasText(texts: LogEvent['texts']): boolean {
  for (const text of texts) if (text !== undefined) return true;
  return false;
}
