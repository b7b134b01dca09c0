/** Each alert fires and resolves as its series demand, by promtool with the times that operators use. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ruleGroups, type AlertingRule } from '../../scripts/generate/monitoring/alert-rules';
import { ALERT_CASES, QUIET_CASES, type AlertCase } from './alert-cases';

const RULES_FILE = path.resolve('deploy', 'helm', 'weir', 'files', 'alerts.yaml');

const RULES = ruleGroups().groups.flatMap(({ rules }) => rules);

function promtool(...args: readonly string[]): string {
  try {
    return execFileSync(process.env.WEIR_PROMTOOL ?? 'promtool', args, { encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`promtool ${args.join(' ')}:\n${stdout}${stderr}`, { cause: error });
  }
}

/** As promtool expects them: with the labels in place. */
function expectedAlert({ labels: { severity = '' }, annotations }: AlertingRule, { labels, value }: Pick<AlertCase, 'labels' | 'value'>) {
  const summary = annotations.summary
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, label: string) => labels[label] ?? '')
    .replaceAll('{{ $value }}', String(value));
  return { exp_labels: { ...labels, severity }, exp_annotations: { ...annotations, summary } };
}

test('promtool accepts the rules', () => {
  expect(promtool('check', 'rules', RULES_FILE)).toContain(`SUCCESS: ${RULES.length} rules found`);
});

test('each alert has its case', () => {
  expect(Object.keys(ALERT_CASES).sort()).toEqual(RULES.map(({ alert }) => alert).sort());
});

type Expected = readonly [minute: number, alerts: readonly unknown[]];

/** Runs promtool on one alert. */
function expectAlerts(alert: string, input: AlertCase['input'], expected: readonly Expected[]): void {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'weir-promtool-')), 'test.yaml');
  writeFileSync(
    file,
    JSON.stringify({
      rule_files: [RULES_FILE],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: Object.entries(input).map(([series, values]) => ({ series, values })),
          alert_rule_test: expected.map(([minute, exp_alerts]) => ({ eval_time: `${minute}m`, alertname: alert, exp_alerts })),
        },
      ],
    }),
  );
  expect(promtool('test', 'rules', file)).toContain('SUCCESS');
}

test.each(RULES.map((rule) => [rule.alert, rule] as const))('%s fires and resolves', (name, rule) => {
  const { input, quietAt, firesAt, resolvedAt, ...alert } = ALERT_CASES[name]!;
  expectAlerts(name, input, [
    [quietAt, []],
    [firesAt, [expectedAlert(rule, alert)]],
    [resolvedAt, []],
  ]);
});

test.each(QUIET_CASES.map((each) => [each.alert, each.why, each] as const))('%s does not fire: %s', (alert, _why, { input, quietAt }) => {
  expectAlerts(
    alert,
    input,
    quietAt.map((minute) => [minute, []]),
  );
});

test('WeirNotScraped fires where there never was a Weir', () => {
  const rule = RULES.find(({ alert }) => alert === 'WeirNotScraped')!;
  expectAlerts('WeirNotScraped', { 'up{job="other"}': '1x20' }, [[10, [expectedAlert(rule, { labels: {} })]]]);
});

test('WeirNotScraped also fires for one installation of several', () => {
  const rule = RULES.find(({ alert }) => alert === 'WeirNotScraped')!;
  expectAlerts(
    'WeirNotScraped',
    {
      'weir_build_info{version="1", store="redis", job="kept", instance="a"}': '1x40',
      'weir_build_info{version="1", store="redis", job="lost", instance="b"}': '1x10 stale _x30',
    },
    [
      [10, []],
      [20, [expectedAlert(rule, { labels: { job: 'lost' } })]],
    ],
  );
});
