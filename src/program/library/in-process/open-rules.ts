/** Opens the source of a limiter's rules: files that may be watched, or a text or objects that stay as they are. */

import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import { FileSource } from '../../../configuration/source/files/file-source';
import type { RulesInForce, SetSource } from '../../../configuration/source/rules-in-force';
import type { ConfigDocument } from '../../../configuration/yaml/config-document';
import type { LimiterChoices } from './limiter-settings';

export type RulesSource = Pick<SetSource, 'load' | 'watch' | 'close'>;

export function openRules(
  { rules: given }: Pick<LimiterChoices, 'rules'>,
  { rules, log }: { readonly rules: RulesInForce; readonly log: Logger },
): RulesSource {
  if (typeof given === 'string') {
    return new FileSource({
      source: { kind: 'path', path: given },
      offer: (set) => rules.offer(set),
      onTrouble: (sentence) => {
        log.warn(event('config_source_trouble'), sentence);
      },
    });
  }
  return {
    load: async () => {
      await rules.offer({ documents: 'text' in given ? [{ name: 'rules', text: given.text }] : given.documents.map(toDocument) });
    },
    watch: () => undefined,
    close: () => undefined,
  };
}

/** JSON is YAML, so problems have the place in this text. */
function toDocument(document: object, index: number): ConfigDocument {
  return { name: `documents[${index}]`, text: JSON.stringify(document, null, 2) };
}
