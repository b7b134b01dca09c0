/** Replays logs under a configuration and a candidate, in virtual time. */

import { examineConfig } from '../../../configuration/compile/compile';
import type { Environment } from '../../../configuration/settings/table/settings';
import type { RuleSet } from '../../../domain/rule/rule-set';
import { BadRequestError } from '../../../lib/errors';
import { VirtualEngine, type VirtualVerdict } from '../../offline/virtual-engine';
import { readConfiguration } from '../configuration';
import { ReplayFigures } from './figures/replay-figures';
import { RuleFigures, windowsByRule } from './figures/rule-figures';
import { LogFile, type WrongInFile } from './logs/log-file';
import type { LogEvent } from './logs/log-event';
import { readMerged } from './logs/merged-logs';
import type { LogFormat, LogMapping } from './mapping/log-mapping';

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
    for (const name of options.logs) files.push(await LogFile.open({ name, ...options, onRead: replay.onRead, onWrong: replay.onWrong }));
    await readMerged({ files, reorderUs: options.reorderUs, onEvent: replay.onEvent, isStopped: replay.isStopped });
  } finally {
    for (const file of files) file.close();
  }
  return replay.outcome();
}

class Replay {
  private readonly engines: readonly VirtualEngine[];
  private readonly figures: ReplayFigures;
  private readonly verdicts: VirtualVerdict[] = [];
  private readonly wrongLines: WrongInFile[] = [];
  private linesWrong = 0;
  private withoutDescriptors = 0;
  private bytes = 0;
  private earlyEnd: EarlyEnd | undefined;

  constructor(private readonly options: ReplayOptions) {
    const [first] = options.configurations;
    this.engines = options.configurations.map(
      ({ ruleSet, modes, keyPrefix }) => new VirtualEngine({ ruleSet, modes, keyPrefix, bucketsMax: options.bucketsMax }),
    );
    this.figures = new ReplayFigures(
      options.configurations.map(({ name }, index) => ({
        name,
        admitted: 0,
        denied: 0,
        rules: new RuleFigures(index === 0 || first === undefined ? undefined : windowsByRule(first.ruleSet)),
      })),
    );
  }

  readonly onRead = (bytes: number): void => {
    this.bytes += bytes;
  };

  readonly onWrong = (wrong: WrongInFile): void => {
    this.linesWrong += 1;
    if (this.wrongLines.length < WRONG_SHOWN) this.wrongLines.push(wrong);
  };

  readonly onEvent = ({ timeUs, request }: LogEvent, file: LogFile): void => {
    if (request.descriptors.length === 0) {
      this.withoutDescriptors += 1;
      return;
    }
    const { engines, verdicts } = this;
    try {
      for (let i = 0; i < engines.length; i += 1) {
        const engine = engines[i];
        if (engine !== undefined) verdicts[i] = engine.decide(request, timeUs);
      }
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error;
      file.wrong(`is a request that Weir refuses: ${error.message}`);
      return;
    }
    this.figures.count(verdicts, timeUs);
  };

  readonly isStopped = (): boolean => {
    const { options } = this;
    options.onProgress(this.bytes, this.figures.requests);
    if (options.isInterrupted()) this.earlyEnd = 'interrupted';
    else if (this.linesWrong > options.errorsMax) this.earlyEnd = 'too many wrong lines';
    return this.earlyEnd !== undefined;
  };

  outcome(): ReplayOutcome {
    const { figures, linesWrong, wrongLines, withoutDescriptors, earlyEnd } = this;
    const evictions = this.engines.map((engine) => engine.evictions);
    return { figures, linesWrong, wrongLines, withoutDescriptors, evictions, ...(earlyEnd !== undefined && { earlyEnd }) };
  }
}
