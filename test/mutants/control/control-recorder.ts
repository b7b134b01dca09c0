/** Records the calls that a store of control data makes of its scripts, so that mutants of the scripts get the same ones. */

import { RedisControlStore } from '../../../src/state/control/redis/redis-control-store';
import type { ScriptRun } from '../../../src/state/store/redis/redis-store';
import type { Script } from '../../../src/state/store/redis/script-loader';
import { loadClockedScript } from '../../support/redis/clocked-script';
import type { ClockedRedis } from '../../support/redis/redis-store';

export type ControlScriptName = 'write' | 'read';

export const CONTROL_SCRIPTS: Readonly<Record<ControlScriptName, Script>> = {
  write: loadClockedScript('control-write'),
  read: loadClockedScript('control-read'),
};

/** One call, at a time of Redis's clock. */
export interface RecordedCall {
  readonly nowUs: number;
  readonly script: ControlScriptName;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** What another hand did to Redis between two calls. */
export interface RecordedCommand {
  readonly command: readonly string[];
}

/** What all keys of control data begin with. */
export const CONTROL_SPACE = 'weir:control:1{weir:control}';

export interface RecordedLife {
  readonly name: string;
  readonly calls: readonly (RecordedCall | RecordedCommand)[];
}

/** Bounds of the store that are far lower than those that serve, so that a short life reaches them. */
export interface SmallBounds {
  readonly log?: number;
  readonly audit?: number;
  /** Bytes of a record in an audit entry. */
  readonly auditBytes?: number;
  /** Of each kind. */
  readonly records?: readonly number[];
  readonly penalties?: number;
}

/** Where the arguments of the write script have them. */
const LOG_AT = 5;
const AUDIT_AT = 6;
const AUDIT_BYTES_AT = 7;
const RECORDS_AT = 12;
const PENALTIES_AT = 18;

export interface Recorder {
  readonly store: RedisControlStore;
  readonly setNow: (nowUs: number) => Promise<void>;
  /** Those of the next writes. */
  readonly setBounds: (bounds: SmallBounds) => void;
  /** Runs a command as another hand would. `{}` in its arguments stands for what all keys begin with. */
  readonly command: (...command: readonly string[]) => Promise<void>;
  readonly calls: (RecordedCall | RecordedCommand)[];
}

/** On the Redis, which must be empty. */
export function startRecorder(redis: ClockedRedis): Recorder {
  const calls: (RecordedCall | RecordedCommand)[] = [];
  let bounds: SmallBounds = {};
  let nowUs = 0;
  const run = <Answer>(call: ScriptRun<Answer>): Promise<Answer> => {
    const script = call.script === CONTROL_SCRIPTS.write ? 'write' : 'read';
    const args = script === 'write' ? bounded(call.args.map(String), bounds) : call.args.map(String);
    calls.push({ nowUs, script, keys: call.keys.map(String), args });
    return redis.store.run({ ...call, args }, {});
  };
  const store = new RedisControlStore({
    run,
    keyPrefix: '',
    scripts: CONTROL_SCRIPTS,
    onUnreadable: () => undefined,
  });
  return {
    store,
    calls,
    command: async (...given) => {
      const command = given.map((part) => part.replace('{}', CONTROL_SPACE));
      calls.push({ command });
      await redis.client.sendCommand(command);
    },
    setBounds: (of) => {
      bounds = of;
    },
    setNow: (us) => {
      nowUs = us;
      return redis.setNow(us);
    },
  };
}

function bounded(args: readonly string[], { log, audit, auditBytes, records, penalties }: SmallBounds): readonly string[] {
  const bounds = new Map([
    [LOG_AT, log],
    [AUDIT_AT, audit],
    [AUDIT_BYTES_AT, auditBytes],
    [PENALTIES_AT, penalties],
  ]);
  return args.map((arg, i) => {
    const bound = bounds.get(i) ?? records?.[i - RECORDS_AT];
    return bound === undefined ? arg : String(bound);
  });
}
