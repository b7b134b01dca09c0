/** The figures of decisions by primaries of a cluster, in Markdown. */

import type { Environment } from '../support/environment';
import { spread, table, threeDigits, whole } from '../support/markdown';
import { spreadOf } from '../support/statistics';
import { INSTANCES, UNDER_WAY, type FanInFigures } from './fan-in';
import type { ReshardingFigures } from './resharding';
import { PER_SHARD, TENANTS, TOTAL, TOTAL_TWO_SLOTS, type ShardFigures, type ShardLoadName } from './sharded-weir';

export interface ShardsReport {
  readonly environment: Environment;
  readonly load: { readonly before: string; readonly after: string };
  readonly loadMs: number;
  readonly rounds: readonly { readonly shards: number; readonly figures: ReadonlyMap<ShardLoadName, ShardFigures> }[];
  readonly fanIn: readonly FanInFigures[];
  readonly resharding: readonly ReshardingFigures[];
}

const TITLES: Readonly<Record<ShardLoadName, string>> = {
  closed: 'as fast as they go',
  total: `${whole(TOTAL)} a second`,
  per_shard: `${whole(PER_SHARD)} a second for each primary`,
  one_slot: `${whole(TOTAL_TWO_SLOTS)} a second`,
  two_slots: `${whole(TOTAL_TWO_SLOTS)} a second, buckets in two slots`,
};

export function renderShards({ environment, load, loadMs, rounds, fanIn, resharding }: ShardsReport): string {
  const { date, node, redis, cores, processor } = environment;
  const shards = [...new Set(rounds.map((round) => round.shards))];
  const figuresOf = (count: number, name: ShardLoadName): readonly ShardFigures[] =>
    rounds.filter((round) => round.shards === count).map(({ figures }) => figures.get(name)!);
  const row = (name: ShardLoadName, count: number): string[] => {
    const figures = figuresOf(count, name);
    const cell = (of: (figures: ShardFigures) => number, show = threeDigits): string => spread(spreadOf(figures.map(of)), show);
    return [
      TITLES[name],
      String(count),
      cell(({ perSecond }) => perSecond, whole),
      cell(({ weirUs }) => weirUs),
      cell(({ redisUs }) => redisUs),
      cell(({ perScript }) => perScript),
      cell(({ busiest }) => busiest * 100),
      cell(({ p50Ms }) => p50Ms),
      cell(({ p99Ms }) => p99Ms),
    ];
  };
  const failed = rounds.reduce((sum, { figures }) => sum + [...figures.values()].reduce((all, each) => all + each.failed, 0), 0);
  return [
    '## Redis Cluster',
    `\`npm run bench -- shards\`, ${date}: Node ${node}, Redis ${redis}, ${cores} cores (${processor}); load average ${load.before} before, ${load.after}\nafter, including the run itself.`,
    `One Weir on a cluster of 1, 3, 6 and 12 primaries, loads of ${loadMs / 1_000} s, with one descriptor of ${whole(TENANTS)} tenants and \`hash_tag: tenant\`. Weir has
one core; the generator and all primaries share the other. So more primaries cannot decide more here: the result is the cost. A request
with buckets in two slots has a second descriptor without a tenant, whose buckets are all in one slot. Medians, with the lowest and the highest round in brackets.`,
    table(
      [
        'load',
        'primaries',
        'per second',
        'CPU µs',
        'Redis CPU µs',
        'decisions in a script',
        'busiest primary, % of Redis CPU',
        'p50 ms',
        'p99 ms',
      ],
      (Object.keys(TITLES) as ShardLoadName[]).flatMap((name) => shards.map((count) => row(name, count))),
    ),
    `Failed calls: ${failed}.`,
    '### Instances on one primary',
    'Connections of as many instances to one Redis, each with one script for each decision, from one process with a core of its own.',
    table(
      ['instances', 'calls under way on each', 'per second', 'Redis CPU µs', 'of its core, %'],
      INSTANCES.flatMap((instances) =>
        UNDER_WAY.map((underWay) => fanInRow(fanIn.filter((each) => each.instances === instances && each.underWay === underWay))),
      ),
    ),
    '### Slots that move',
    `Slots with buckets of 2,000 tenants move from one of 12 primaries to another, one after another, at 3,000 calls a second.`,
    table(
      ['round', 'slots moved', 'calls admitted', 'hits charged - admitted', 'failed', 'p99 ms before', 'p99 ms meanwhile'],
      resharding.map(({ slots, admitted, charged, failed: lost, p99StillMs, p99MovingMs }, index) => [
        String(index + 1),
        whole(slots),
        whole(admitted),
        whole(charged - admitted),
        whole(lost),
        threeDigits(p99StillMs),
        threeDigits(p99MovingMs),
      ]),
    ),
  ].join('\n\n');
}

function fanInRow(figures: readonly FanInFigures[]): string[] {
  const cell = (of: (figures: FanInFigures) => number, show = threeDigits): string => spread(spreadOf(figures.map(of)), show);
  const [{ instances, underWay } = { instances: NaN, underWay: NaN }] = figures;
  return [
    String(instances),
    String(underWay),
    cell(({ perSecond }) => perSecond, whole),
    cell(({ redisUs }) => redisUs),
    cell(({ busy }) => busy * 100),
  ];
}
