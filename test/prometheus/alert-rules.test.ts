/** promtool accepts the alerts, and each fires and resolves by what the series show. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ruleGroups, type AlertingRule } from '../../src/observability/monitoring/alert-rules';
import { ALERT_CASES, type AlertCase } from './alert-cases';

const RULES_FILE = path.resolve('deploy', 'prometheus', 'weir-alerts.yaml');

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
function expectedAlert({ labels: { severity = '' }, annotations }: AlertingRule, labels: AlertCase['labels']) {
  const summary = annotations.summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, label: string) => labels[label] ?? '');
  return { exp_labels: { ...labels, severity }, exp_annotations: { ...annotations, summary } };
}

test('promtool accepts the rules', () => {
  expect(promtool('check', 'rules', RULES_FILE)).toContain(`SUCCESS: ${RULES.length} rules found`);
});

test('each alert has its case', () => {
  expect(Object.keys(ALERT_CASES).sort()).toEqual(RULES.map(({ alert }) => alert).sort());
});

test.each(RULES.map((rule) => [rule.alert, rule] as const))('%s fires and resolves', (name, rule) => {
  const { input, quietAt, firesAt, resolvedAt, labels } = ALERT_CASES[name]!;
  const at = (minute: number, exp_alerts: readonly unknown[]) => ({ eval_time: `${minute}m`, alertname: name, exp_alerts });
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
          alert_rule_test: [at(quietAt, []), at(firesAt, [expectedAlert(rule, labels)]), at(resolvedAt, [])],
        },
      ],
    }),
  );
  expect(promtool('test', 'rules', file)).toContain('SUCCESS');
});
