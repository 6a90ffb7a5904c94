from .dealing import DealResult as DealResult, deal_file as deal_file, hand_out as hand_out
