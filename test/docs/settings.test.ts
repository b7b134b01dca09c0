/** The page of settings and the code agree, in both directions. */

import fs from 'node:fs';
import path from 'node:path';
import { renderSettingsDoc } from '../../src/config/settings-doc';
import { SETTINGS_TABLE } from '../../src/config/settings-table';

const REGENERATE = 'node scripts/write-docs.mjs (after a build)';

const NAMES: readonly string[] = Object.values(SETTINGS_TABLE).map(({ name }) => name);

function sourceFiles(): string[] {
  return fs.readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
}

/** `REDIS_OP_TIMEOUT` as `redisOpTimeout`. */
function toCamelCase(name: string): string {
  return name.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

describe('Settings', () => {
  test('docs/settings.md is what the table makes', () => {
    const written = fs.readFileSync('docs/settings.md', 'utf8');
    if (written !== renderSettingsDoc()) throw new Error(`docs/settings.md is out of date; run ${REGENERATE}`);
  });

  test('each has a name and a property of its own, which follows from the name', () => {
    expect(new Set(NAMES).size).toBe(NAMES.length);
    for (const [property, { name, type }] of Object.entries(SETTINGS_TABLE)) {
      const unit = type.accepts.startsWith('a duration') ? 'Ms' : '';
      expect(property).toBe(toCamelCase(name) + unit);
    }
  });

  test('no code reads an environment variable that the table does not have', () => {
    const read = sourceFiles().flatMap((name) => {
      const text = fs.readFileSync(path.join('src', name), 'utf8');
      return Array.from(text.matchAll(/\benv(?:\.|\[['"`])([A-Z][A-Z0-9_]*)/g), ([, variable]) => ({ name, variable }));
    });
    expect(read.filter(({ variable }) => !NAMES.includes(variable!))).toEqual([]);
  });
});
