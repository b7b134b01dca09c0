/** The table of commands of the admin API. Each is loaded when it is used. */

import type { ControlCommand } from '../control-command';

interface ControlEntry {
  /** One line for the help. */
  readonly purpose: string;
  readonly load: () => Promise<ControlCommand>;
}

export const CONTROL_COMMANDS: ReadonlyMap<string, ControlEntry> = new Map<string, ControlEntry>([
  ['tenant', { purpose: 'shows and changes the plans of tenants', load: async () => (await import('../tenant.js')).tenant }],
  ['plan', { purpose: 'shows and changes the limits of plans', load: async () => (await import('../plan.js')).plan }],
  ['override', { purpose: 'gives descriptors another limit', load: async () => (await import('../override.js')).override }],
  ['block', { purpose: 'denies the requests of descriptors', load: async () => (await import('../block.js')).block }],
  ['pass', { purpose: 'makes descriptors unlimited', load: async () => (await import('../pass.js')).pass }],
  [
    'rollout',
    { purpose: 'puts a candidate in force for a part, and takes it back', load: async () => (await import('../rollout.js')).rollout },
  ],
  [
    'exceptions',
    { purpose: 'lists what is in force beside the configuration', load: async () => (await import('../exceptions.js')).exceptions },
  ],
  ['credit', { purpose: 'gives hits back to the buckets of a descriptor', load: async () => (await import('../credit.js')).credit }],
  ['bucket', { purpose: 'shows, explains, lists and resets buckets', load: async () => (await import('../bucket.js')).bucket }],
  ['top', { purpose: 'lists the keys that are limited most', load: async () => (await import('../top.js')).top }],
  ['tail', { purpose: 'shows decisions as they are made', load: async () => (await import('../tail.js')).tail }],
  ['audit', { purpose: 'shows who changed what, and why', load: async () => (await import('../audit.js')).audit }],
  ['control', { purpose: 'restores or discards lost control data', load: async () => (await import('../control.js')).control }],
  ['events', { purpose: 'lists events and their delivery', load: async () => (await import('../events.js')).events }],
  ['instances', { purpose: 'lists the serving processes', load: async () => (await import('../instances.js')).instances }],
]);
