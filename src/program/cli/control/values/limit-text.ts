/** Limits on the command line: `300/minute`, `NAME=20/5minute+50`. */

import type { LimitValues } from '../../../../administration/admin-client/operations';
import { UNIT_NAMES } from '../../../../domain/descriptor/unit';
import { hitsText, type AmountForm } from '../../../../lib/text/amount';
import { UsageError } from '../../usage-error';

export const LIMIT_FORM = '[NAME=]N/UNIT[+BURST]';

/** @throws UsageError */
export function readLimit(text: string): LimitValues {
  const [, name, requests = '', multiplier = '', word, burst] =
    /^(?:(.+)=)?(\d{1,16})\/(\d{0,10})([a-z]+)(?:\+(\d{1,16}))?$/s.exec(text) ?? [];
  const unit = UNIT_NAMES.find((each) => each === word);
  if (unit === undefined)
    throw new UsageError(
      `--limit: ${JSON.stringify(text)} is not accepted; write 20/minute, 20/5minute, NAME=20/minute or 20/minute+50 (with a burst), with one of ${UNIT_NAMES.join(', ')}`,
    );
  return {
    ...(name !== undefined && { name }),
    requests_per_unit: Number(requests),
    unit,
    ...(multiplier !== '' && { unit_multiplier: Number(multiplier) }),
    ...(burst !== undefined && { burst: Number(burst) }),
  };
}

type ShownLimit = Pick<LimitValues, 'name' | 'requests_per_unit' | 'unit_multiplier' | 'burst'> & {
  readonly unit: string;
  readonly show?: AmountForm;
};

/** The reverse of `readLimit`, unless people read the hits as an amount. */
export function showLimit({
  name = '',
  requests_per_unit: requests,
  unit,
  unit_multiplier: multiplier = 1,
  burst,
  show,
}: ShownLimit): string {
  const window = multiplier === 1 ? unit : `${multiplier}${unit}`;
  return `${name === '' ? '' : `${name}=`}${hitsText(requests, show)}/${window}${burst === undefined ? '' : `+${hitsText(burst, show)}`}`;
}
