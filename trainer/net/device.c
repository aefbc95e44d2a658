/* trainer/net/device.c — sets a queue's precision and its memory for products. */
#include "trainer/net/internal.h"

sw_status sw_net_precision(const struct sw_net *net)
{
	void *work = net->at.product_bytes ? net->parts + net->at.product : NULL;

	return net->ops->precision(net->q, net->trainer->precision, work, net->at.product_bytes);
}

sw_status sw_net_weights_ready(const struct sw_net *net)
{
	return net->ops->weights(net->q, sw_net_floats(net, net->at.weights), net->own->weights_n,
				 net->parts + net->at.copy);
}
