// Pays for a deposit as a user of the TypeScript client does, and prints {status, body, payment} or {thrown}:
//   node pay.mjs URL API_KEY PRIVATE_KEY NETWORK AMOUNT_USD CAP
// CAP is default, which is one dollar, or none.
import { x402Client, wrapFetchWithPayment, decodePaymentResponseHeader } from '@x402/fetch'
import { ExactEvmScheme } from '@x402/evm'
import { privateKeyToAccount } from 'viem/accounts'

const [url, apiKey, privateKey, network, amount, cap] = process.argv.slice(2)
const client = new x402Client()
client.register(network, new ExactEvmScheme(privateKeyToAccount(privateKey)))
if (cap === 'none') client.setSpendControls(false)
const pay = wrapFetchWithPayment(fetch, client)
try {
  const response = await pay(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ amount_usd: amount }),
  })
  const header = response.headers.get('payment-response')
  console.log(JSON.stringify({ status: response.status, body: await response.json(), payment: header && decodePaymentResponseHeader(header) }))
} catch (e) {
  console.log(JSON.stringify({ thrown: String(e) }))
}
