/** Stages: the part of the requests that a candidate decides in place of its limit, a stable share of the values of one entry. */

import { toByteString } from '../../descriptor/byte-string';
import type { ByteString } from '../../descriptor/descriptor';

/** The parts of a percentage that a stage can have: hundredths. */
const SHARES = 10_000;

const { imul } = Math;

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** A stage that takes itself back: the denied share of its hits was above `deniedAbove` over `forS` seconds. */
export interface StopIf {
  /** Over 0, at most 1. */
  readonly deniedAbove: number;
  readonly forS: number;
}

/** The values of a stage. */
export interface StageValues {
  /** The key of the entry whose values are in the stage or not. */
  readonly by?: ByteString;
  /** From 0 to 100. */
  readonly percent: number;
  readonly stopIf?: StopIf;
}

/** The values of a stage with the version of the record that has them; 0: the configuration has them. */
export interface VersionedStage extends StageValues {
  readonly version: number;
}

/** The rollout of a candidate, as the configuration or a record has it. */
export interface Stage {
  readonly domain: ByteString;
  /** Unique in the domain: the path of the rule, `plan/` and a plan, or `override/` and the id of a record. */
  readonly name: string;
  readonly values: VersionedStage;
  /** The hash up to the value. */
  readonly seed: number;
  /** Whether records of control data may replace the values: those of an override are in its own record. */
  readonly isConfigured: boolean;
}

export interface StageInput {
  readonly domain: ByteString;
  readonly name: string;
  readonly values: VersionedStage;
  readonly isConfigured: boolean;
}

/** The name comes from the configuration, so it is hashed as UTF-8. */
export function makeStage({ domain, name, values, isConfigured }: StageInput): Stage {
  const start = `${domain}.${toByteString(name)}\0`;
  return { domain, name, values, isConfigured, seed: hashOn(FNV_OFFSET, start) };
}

/** Whether a stage can have this percentage of the values: from 0 to 100, in hundredths. */
export function isPercent(percent: number): boolean {
  return percent >= 0 && percent <= 100 && Math.abs(percent * 100 - Math.round(percent * 100)) < 1e-9;
}

/** FNV-1a of 32 bits. */
function hashOn(hash: number, bytes: ByteString): number {
  let next = hash;
  for (let i = 0; i < bytes.length; i += 1) next = imul(next ^ bytes.charCodeAt(i), FNV_PRIME);
  return next;
}

/** MurmurHash3's last step, because the low bits of FNV-1a alone are uneven for values that differ in their last byte. */
function mixed(hash: number): number {
  let next = imul(hash ^ (hash >>> 16), 0x85ebca6b);
  next = imul(next ^ (next >>> 13), 0xc2b2ae35);
  return (next ^ (next >>> 16)) >>> 0;
}

/**
 * Whether a value is in the stage: the hash of domain, name, NUL and value selects one of 10,000 places, and the stage has the first of them. So a
 * larger percentage keeps the values of a smaller one, and two rules choose independently.
 */
export function isInStage({ seed }: Pick<Stage, 'seed'>, value: ByteString, percent: number): boolean {
  return mixed(hashOn(seed, value)) % SHARES < Math.round(percent * (SHARES / 100));
}

/** `candidate`: the requests of the stage. `current`: the others, which the limit in force decides. */
export const STAGE_PARTS = ['candidate', 'current'] as const;

export type StagePart = (typeof STAGE_PARTS)[number];

/** The stage of a match, and the part of the requests that it is in. */
export interface StageInForce {
  readonly stage: Stage;
  /** The record has them if there is one, otherwise the configuration. */
  readonly values: VersionedStage;
  readonly part: StagePart;
}
